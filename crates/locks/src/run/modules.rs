//! Call sites, and the files that they lie in.

use std::collections::HashMap;
use std::mem::offset_of;

use steady_preload::area::{MODULE_PATH_BYTES, MODULES, Module, Process, Site};

use super::area::{Bytes, Entry, each, tables};
use super::found::{FoundModule, FoundPlace};

/// The sites of a place by number; those of which nothing is known are missing.
pub(super) type Sites = HashMap<u32, FoundPlace>;

/// Number `numbered`, plus one, of a table; none where it is zero.
pub(super) fn numbered(number: u32) -> Option<u32> {
    number.checked_sub(1)
}

/// The files of all processes, each once.
#[derive(Default)]
pub(super) struct Modules {
    pub(super) list: Vec<FoundModule>,
    numbers: HashMap<FoundModule, usize>,
}

impl Modules {
    pub(super) fn into_list(self) -> Vec<FoundModule> {
        self.list
    }

    fn number(&mut self, module: FoundModule) -> usize {
        let list = &mut self.list;
        *self.numbers.entry(module).or_insert_with_key(|module| {
            list.push(module.clone());
            list.len() - 1
        })
    }
}

/// The call sites of a place.
pub(super) fn sites(bytes: &(impl Bytes + ?Sized), place: u32, process: &Entry<'_>, modules: &mut Modules) -> Sites {
    let begun = process.u32(offset_of!(Process, modules)) as usize;
    let mut files = HashMap::new();
    each::<Module>(bytes, place, tables::MODULES, begun.min(MODULES), |number, module| {
        let length = module.u64(offset_of!(Module, length));
        if let Some(path) = module.text(offset_of!(Module, path), length, MODULE_PATH_BYTES) {
            files.insert(number, modules.number(FoundModule { path, inode: module.u64(offset_of!(Module, inode)) }));
        }
    });
    let mut sites = Sites::new();
    each_site(bytes, place, |number, site| {
        let address = site.u64(offset_of!(Site, address));
        if address == 0 {
            return;
        }
        let module = numbered(site.u32(offset_of!(Site, module))).and_then(|module| files.get(&module).copied());
        let offset = if module.is_some() { site.u64(offset_of!(Site, offset)) } else { address };
        sites.insert(number, FoundPlace { module, offset });
    });
    sites
}

/// Gives what each site of a place has.
fn each_site(bytes: &(impl Bytes + ?Sized), place: u32, visit: impl FnMut(u32, &Entry<'_>)) {
    each::<Site>(bytes, place, tables::SITES, steady_preload::area::SITES, visit);
}
