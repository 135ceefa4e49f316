//! Writes the page that a scrape gets: each family of metrics with its samples.

use std::io::{self, Write};

use steady_model::{RequestSums, RulerSums};

use super::families::{FAMILIES, Family, Source, VERSION};
use super::requests::OUTSIDE;
use super::sums::{ProcessCpu, PublishedSums, RequestKey, Walls, bound};
use super::text::{Dialect, Text, Value};
use crate::record::LineFault;

/// Writes all metrics in a format, and returns `out`.
pub(super) fn write<W: Write>(sums: &PublishedSums, dialect: Dialect, out: W) -> io::Result<W> {
    let mut page = Page { sums, text: Text::new(dialect, out) };
    for family in FAMILIES {
        page.text.family(family.head);
        page.samples(family)?;
    }
    page.text.finish()
}

struct Page<'a, W> {
    sums: &'a PublishedSums,
    text: Text<W>,
}

impl<W: Write> Page<'_, W> {
    fn samples(&mut self, family: &Family) -> io::Result<()> {
        let (name, sums) = (family.head.name, self.sums);
        let mut count = |labels: &[(&str, &str)], value| self.text.sample(name, "_total", labels, value);
        match family.source {
            Source::Requests(of) => self.requests(family, &|_, sums| Some(of(sums))),
            Source::Inside(of) => self.requests(family, &|key, sums| (key.way != OUTSIDE).then(|| of(sums))),
            Source::Levels(of) => self.requests(family, &|key, sums| {
                let is_known = key.way != OUTSIDE && sums.levels.requests == sums.requests;
                is_known.then(|| of(&sums.levels))
            }),
            Source::Processes(of) => self.processes(name, of),
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

    fn requests(&mut self, family: &Family, of: &dyn Fn(&RequestKey, &RequestSums) -> Option<Value>) -> io::Result<()> {
        for (service, versions) in &self.sums.services {
            for (version, sums) in &versions.versions {
                for (key, sums) in &sums.requests {
                    let Some(value) = of(key, sums) else { continue };
                    let labels: [(&str, &str); 5] = [
                        ("service", service),
                        ("version", version),
                        ("route", &key.route),
                        ("assigned", key.way),
                        ("class", &key.class),
                    ];
                    let labels = if key.class.is_empty() { &labels[..4] } else { &labels };
                    self.text.sample(family.head.name, family.head.kind.suffix(), labels, value)?;
                }
            }
        }
        Ok(())
    }

    fn processes(&mut self, name: &str, of: fn(&ProcessCpu) -> f64) -> io::Result<()> {
        for (service, sums) in &self.sums.services {
            let mut sample = |labels: &[(&str, &str)], cpu: &ProcessCpu| {
                self.text.sample(name, "_total", labels, Value::Real(of(cpu) / 1e9))
            };
            if let Some(cpu) = &sums.processes {
                sample(&[("service", service)], cpu)?;
            }
            for (version, sums) in &sums.versions {
                if let Some(cpu) = &sums.processes {
                    sample(&[("service", service), ("version", version)], cpu)?;
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
