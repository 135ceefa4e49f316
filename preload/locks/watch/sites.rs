//! Places in the code, each noted when it is first seen, with the file that is mapped there then.

use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

use super::area::{FARTHEST, MODULES, Place, SITES, site_of};
use super::mapped::{self, Mapped};

/// The number of an address plus one; 0 where there is no room for it.
pub(crate) fn number(place: &'static Place, address: u64) -> u32 {
    for step in 0..FARTHEST {
        let number = (site_of(address) + step) % SITES;
        let site = &place.sites[number];
        let found = site.address.load(Acquire);
        if found == address {
            return number as u32 + 1;
        }
        if found == 0 {
            match site.address.compare_exchange(0, address, AcqRel, Acquire) {
                Ok(_) => {
                    if let Some((offset, module)) = mapped::at(address, |mapped| module(place, mapped)) {
                        site.offset.store(offset, Relaxed);
                        site.module.store(module, Release);
                    }
                    return number as u32 + 1;
                }
                Err(other) if other == address => return number as u32 + 1,
                Err(_) => (),
            }
        }
    }
    place.process.sites_lost.fetch_add(1, Relaxed);
    0
}

/// The number of a file plus one; 0 where there is no room for it. Two threads that see a file for the first time may each give it
/// one.
fn module(place: &Place, mapped: &Mapped<'_>) -> u32 {
    let is_it = |module: &super::area::Module| {
        module.length.load(Acquire) != 0
            && module.inode.load(Relaxed) == mapped.inode
            && module.device.load(Relaxed) == mapped.device
            && (mapped.inode != 0 || module.length.load(Relaxed) == mapped.path.len() as u64)
    };
    let begun = (place.process.modules.load(Relaxed) as usize).min(MODULES);
    if let Some(number) = place.modules.iter().take(begun).position(is_it) {
        return number as u32 + 1;
    }
    let number = place.process.modules.fetch_add(1, Relaxed);
    let Some(module) = place.modules.get(number as usize) else { return 0 };
    module.inode.store(mapped.inode, Relaxed);
    module.device.store(mapped.device, Relaxed);
    for (byte, place) in mapped.path.iter().zip(&module.path) {
        place.store(*byte, Relaxed);
    }
    module.length.store(mapped.path.len() as u64, Release);
    number + 1
}
