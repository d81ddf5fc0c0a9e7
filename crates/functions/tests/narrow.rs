//! Functions ask a session no more than [`steppe_functions::Host`] has: only what is handed to the
//! executor names the session itself.

use std::path::Path;

#[test]
fn families_of_functions_see_the_host_alone() {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    for entry in std::fs::read_dir(&sources).expect("the sources") {
        let path = entry.expect("an entry").path();
        if path.is_dir() || path.ends_with("context.rs") {
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("a source");
        let mut named = text.split(".session").skip(1);
        let asks = named.any(|rest| !rest.starts_with('_'));
        assert!(!asks, "{} asks the session", path.display());
    }
}
