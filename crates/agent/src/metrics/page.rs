//! The page that a scrape gets: every family with its samples.

use std::io::{self, Write};

use steady_model::{LineFault, RulerSums};

use super::families::{FAMILIES, Family, Source, VERSION};
use super::requests::OUTSIDE;
use super::sums::Sums;
use super::text::{Dialect, Text, Value};
use super::walls::{Walls, bound};

/// Writes all that is shown.
pub(super) fn write<W: Write>(sums: &Sums, dialect: Dialect, out: W) -> io::Result<W> {
    let mut page = Page { sums, text: Text::new(dialect, out) };
    for family in FAMILIES {
        page.text.family(family.head);
        page.samples(family)?;
    }
    page.text.finish()
}

struct Page<'a, W> {
    sums: &'a Sums,
    text: Text<W>,
}

impl<W: Write> Page<'_, W> {
    fn samples(&mut self, family: &Family) -> io::Result<()> {
        let (name, sums) = (family.head.name, self.sums);
        let mut count = |labels: &[(&str, &str)], value| self.text.sample(name, "_total", labels, value);
        match family.source {
            Source::Requests(of) => self.requests(name, true, of),
            Source::Inside(of) => self.requests(name, false, of),
            Source::Walls => self.walls(name),
            Source::Services(of) => sums
                .services
                .iter()
                .try_for_each(|(service, sums)| count(&[("service", service)], Value::Whole(of(sums)))),
            Source::Rulers(of) => self.rulers(name, of),
            Source::OwnRulers(of) => {
                sums.rulers.iter().try_for_each(|(ruler, sums)| count(&[("ruler", ruler.name())], of(sums)))
            }
            Source::Faults => LineFault::ALL.into_iter().try_for_each(|fault| {
                count(&[("kind", fault.name())], Value::Whole(sums.arrived.faults[fault.index()]))
            }),
            Source::Single(of) => {
                let suffix = family.head.kind.suffix();
                of(sums).map_or(Ok(()), |value| self.text.sample(name, suffix, &[], value))
            }
            Source::Version => {
                self.text.sample(name, family.head.kind.suffix(), &[("version", VERSION)], Value::Whole(1))
            }
        }
    }

    fn requests(
        &mut self,
        name: &str,
        with_outside: bool,
        of: fn(&steady_model::RequestSums) -> Value,
    ) -> io::Result<()> {
        for (service, versions) in &self.sums.services {
            for (version, sums) in &versions.versions {
                let shown = sums.requests.iter().filter(|((_, way), _)| with_outside || *way != OUTSIDE);
                for ((route, way), sums) in shown {
                    let labels =
                        [("service", &**service), ("version", &**version), ("route", &**route), ("assigned", *way)];
                    self.text.sample(name, "_total", &labels, of(sums))?;
                }
            }
        }
        Ok(())
    }

    fn rulers(&mut self, name: &str, of: fn(&RulerSums) -> Value) -> io::Result<()> {
        for (service, versions) in &self.sums.services {
            for (version, sums) in &versions.versions {
                for (ruler, sums) in &sums.rulers {
                    let labels = [("service", &**service), ("version", &**version), ("ruler", ruler.name())];
                    self.text.sample(name, "_total", &labels, of(sums))?;
                }
            }
        }
        Ok(())
    }

    fn walls(&mut self, name: &str) -> io::Result<()> {
        for (service, versions) in &self.sums.services {
            for (version, sums) in &versions.versions {
                if let Some(walls) = &sums.walls {
                    self.histogram(name, [("service", service), ("version", version)], walls, sums.wall / 1e9)?;
                }
            }
        }
        Ok(())
    }

    fn histogram(&mut self, name: &str, labels: [(&str, &str); 2], walls: &Walls, sum: f64) -> io::Result<()> {
        let mut bucket = |bound: &str, requests| {
            self.text.sample(name, "_bucket", &[labels[0], labels[1], ("le", bound)], Value::Whole(requests))
        };
        for (place, requests) in walls.up_to().enumerate() {
            bucket(&bound(place).to_string(), requests)?;
        }
        bucket("+Inf", walls.count())?;
        self.text.sample(name, "_sum", &labels, Value::Real(sum))?;
        self.text.sample(name, "_count", &labels, Value::Whole(walls.count()))
    }
}
