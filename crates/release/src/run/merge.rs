//! Merges the rows of several stores.

use std::collections::{HashMap, HashSet};

use steady_model::ReleaseRows;

/// Merges the rows of several stores. Versions, routes and classes with the same name become one. Hosts stay separate:
/// a number is appended to the name of a host that another store has too, in the order of the stores.
pub fn merged(parts: Vec<ReleaseRows>) -> ReleaseRows {
    let mut parts = parts.into_iter();
    let Some(mut all) = parts.next() else { return ReleaseRows::default() };
    if all.classes.is_empty() {
        all.classes.push(String::new());
    }
    let mut hosts: HashSet<String> = all.hosts.iter().cloned().collect();
    for part in parts {
        let versions = merge_names(&mut all.versions, part.versions);
        let routes = merge_names(&mut all.routes, part.routes);
        let classes = if part.classes.is_empty() { vec![String::new()] } else { part.classes };
        let classes = merge_names(&mut all.classes, classes);
        let first = all.hosts.len() as u32;
        for name in part.hosts {
            let mut numbered = (2..).map(|number| format!("{name} ({number})"));
            let free = |name: &String| !hosts.contains(name);
            let name = if free(&name) { Some(name) } else { numbered.find(free) };
            hosts.extend(name.clone());
            all.hosts.extend(name);
        }
        all.requests.extend(part.requests.into_iter().map(|mut row| {
            row.host += first;
            (row.version, row.route) = (versions[row.version as usize], routes[row.route as usize]);
            row.class = classes[row.class as usize];
            row
        }));
        all.rulers.extend(part.rulers.into_iter().map(|mut row| {
            row.host += first;
            row.version = row.version.map(|version| versions[version as usize]);
            row
        }));
        all.processes.extend(part.processes.into_iter().map(|mut row| {
            row.host += first;
            row.version = row.version.map(|version| versions[version as usize]);
            row
        }));
        all.seconds.extend(part.seconds.into_iter().map(|mut row| {
            row.host += first;
            row
        }));
        all.walls.extend(part.walls.into_iter().map(|mut row| {
            row.host += first;
            (row.version, row.route) = (versions[row.version as usize], routes[row.route as usize]);
            row
        }));
        all.folded += part.folded;
        all.lost += part.lost;
    }
    all
}

/// Adds new names to `names`. Returns the index of each of `more` in `names`.
fn merge_names(names: &mut Vec<String>, more: Vec<String>) -> Vec<u32> {
    let mut known: HashMap<String, u32> = names.iter().cloned().zip(0..).collect();
    let place = |name: String| {
        *known.entry(name).or_insert_with_key(|name| {
            names.push(name.clone());
            names.len() as u32 - 1
        })
    };
    more.into_iter().map(place).collect()
}

#[cfg(test)]
mod tests {
    use steady_model::{Assignment, ReleaseRow, RequestSums, WallRow};

    use super::*;

    fn part(host: &str, versions: &[&str], route: &str) -> ReleaseRows {
        let row = |version| ReleaseRow {
            second: 7,
            host: 0,
            process: 9,
            version,
            route: 0,
            class: 0,
            assignment: Assignment::Random,
            span_seconds: 1,
            slot_seconds: 0,
            second_of_pair: false,
            sums: RequestSums { requests: 1, ..RequestSums::default() },
        };
        let wall = |version| WallRow { second: 0, host: 0, version, route: 0, counts: vec![(3, 1)] };
        let numbers = 0..versions.len() as u32;
        ReleaseRows {
            service: "shop".to_owned(),
            hosts: vec![host.to_owned()],
            versions: versions.iter().map(|version| (*version).to_owned()).collect(),
            routes: vec![route.to_owned()],
            requests: numbers.clone().map(row).collect(),
            walls: numbers.map(wall).collect(),
            lost: 1,
            folded: 2,
            ..ReleaseRows::default()
        }
    }

    #[test]
    fn versions_and_routes_are_merged_by_name_and_hosts_stay_separate() {
        let parts = [
            part("a", &["v1", "v2"], "/"),
            part("a", &["v2", "v3"], "/x"),
            part("a", &["v1"], "/"),
            part("b", &[], "/"),
        ];
        let all = merged(parts.into());
        assert_eq!(all.hosts, ["a", "a (2)", "a (3)", "b"]);
        assert_eq!((all.versions.join(" "), all.routes.join(" ")), ("v1 v2 v3".to_owned(), "/ /x".to_owned()));
        let rows: Vec<(u32, u32, u32)> = all.requests.iter().map(|row| (row.host, row.version, row.route)).collect();
        assert_eq!(rows, [(0, 0, 0), (0, 1, 0), (1, 1, 1), (1, 2, 1), (2, 0, 0)]);
        let walls: Vec<(u32, u32, u32)> = all.walls.iter().map(|row| (row.host, row.version, row.route)).collect();
        assert_eq!(walls, rows);
        assert_eq!((all.lost, all.folded), (4, 8));
        assert_eq!(merged(Vec::new()), ReleaseRows::default());
    }
}
