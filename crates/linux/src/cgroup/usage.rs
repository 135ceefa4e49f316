//! The CPU time of a control group that is not ours.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use steady_model::{Absent, Nanos, Reading};

use super::Version;
use super::own::parse_usage;
use crate::procfs::number;

/// Reads the CPU time of all that was ever in a group or in those below it.
#[derive(Debug)]
pub struct GroupUsage {
    version: Version,
    file: File,
}

impl GroupUsage {
    /// Of the group in this folder, of version 1 (`cpuacct.usage`) or 2 (`cpu.stat`).
    pub fn open(folder: &Path) -> Reading<Self> {
        let open = |name: &str| File::open(folder.join(name));
        let shown = folder.display();
        let (version, file) = match open("cpuacct.usage") {
            Ok(file) => (Version::V1, file),
            Err(_) => {
                let absent =
                    |error| Absent::because(format!("'{shown}' has neither cpuacct.usage nor cpu.stat ({error})"));
                (Version::V2, open("cpu.stat").map_err(absent)?)
            }
        };
        let usage = GroupUsage { version, file };
        // Groups of version 1 have such a file too, without the CPU time in it.
        usage.cpu_time().map_err(|error| Absent::because(format!("'{shown}': {error}")))?;
        Ok(usage)
    }

    /// The CPU time so far. What runs at this moment is told as of the last tick of its CPU.
    ///
    /// # Errors
    /// What read(2) says: ENODEV once the group is gone.
    pub fn cpu_time(&self) -> io::Result<Nanos> {
        let mut bytes = [0_u8; 512];
        let length = self.file.read_at(&mut bytes, 0)?;
        let text = String::from_utf8_lossy(&bytes[..length]);
        let read = match self.version {
            Version::V1 => number(Some(&text), "cpuacct.usage").map(Nanos),
            Version::V2 => parse_usage(&text),
        };
        read.map_err(|absent| io::Error::other(absent.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_generations_are_read() {
        let folder = std::env::temp_dir().join(format!("steady-group-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        assert!(GroupUsage::open(&folder).unwrap_err().0.contains("neither"));
        std::fs::write(folder.join("cpu.stat"), "nr_periods 0\n").unwrap();
        assert!(GroupUsage::open(&folder).unwrap_err().0.contains("usage_usec"));
        std::fs::write(folder.join("cpu.stat"), "usage_usec 12\nuser_usec 3\n").unwrap();
        assert_eq!(GroupUsage::open(&folder).unwrap().cpu_time().unwrap(), Nanos(12_000));
        std::fs::write(folder.join("cpuacct.usage"), "777\n").unwrap();
        assert_eq!(GroupUsage::open(&folder).unwrap().cpu_time().unwrap(), Nanos(777));
        std::fs::remove_dir_all(folder).unwrap();
    }
}
