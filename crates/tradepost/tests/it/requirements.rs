//! The requirements §1.1 and the resolutions §1.5, by adversarial requests: what collides, what
//! repeats, what breaks, and what HTTP permits. Each test names the ids that it is about.

mod appointments;
mod http;
mod leads;
mod precedence;
mod repeats;
mod skills;
mod store;
mod versions;
