//! Every gradient of the library against finite differences of the slow reference, and every draw against the
//! density it claims.

mod reference;

#[path = "gradients/agreement.rs"]
mod agreement;
#[path = "gradients/case.rs"]
mod case;
#[path = "gradients/choice.rs"]
mod choice;
#[path = "gradients/clamp.rs"]
mod clamp;
#[path = "gradients/combinations.rs"]
mod combinations;
#[path = "gradients/divergence.rs"]
mod divergence;
#[path = "gradients/draws.rs"]
mod draws;
#[path = "gradients/kernels.rs"]
mod kernels;
#[path = "gradients/portions.rs"]
mod portions;
