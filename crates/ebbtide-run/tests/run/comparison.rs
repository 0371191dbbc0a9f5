//! Runs put side by side.

use std::fs;

use ebbtide::objective::Method;
use ebbtide_run::Status;
use ebbtide_run::compare::{gather, group};
use ebbtide_run::folder::Files;

use crate::small::{begin, folder, resume, small};

#[test]
fn seeds_are_put_together_and_what_is_unfinished_is_counted() {
    let parent = folder();
    for seed in 0..3 {
        begin(parent.path(), &small(Method::TbTb, seed), u64::MAX);
    }
    begin(parent.path(), &small(Method::TbTb, 3), 5);
    begin(parent.path(), &small(Method::TbVariance, 0), u64::MAX);
    let found = gather(&[parent.path().to_owned()]).found;
    let groups = group(&found);
    assert_eq!(groups.len(), 2);
    assert_eq!((groups[0].method.as_str(), groups[1].method.as_str()), ("tb-variance", "tb-tb"));
    let (seeds, unfinished) = (&groups[1].seeds, groups[1].unfinished);
    assert_eq!((seeds.as_slice(), unfinished), (&[0, 1, 2][..], 1));
    let elbos: Vec<f64> = found
        .iter()
        .filter(|run| run.settings.method == Some(Method::TbTb))
        .filter_map(|run| run.outcome.as_ref().filter(|outcome| outcome.status == Status::Finished))
        .map(|outcome| outcome.figures.expect("figures").elbo)
        .collect();
    let mean = groups[1].elbo.expect("a mean");
    assert!((mean.mean - elbos.iter().sum::<f64>() / 3.0).abs() < 1e-12 && mean.deviation.is_some());
}

#[test]
fn runs_that_cannot_be_read_do_not_hide_the_others() {
    let parent = folder();
    let (broken, _) = begin(parent.path(), &small(Method::TbTb, 0), u64::MAX);
    begin(parent.path(), &small(Method::TbTb, 1), u64::MAX);
    fs::write(Files(&broken).result(), "{").expect("damaged");
    let gathered = gather(&[parent.path().to_owned()]);
    assert_eq!((gathered.found.len(), gathered.unreadable.len()), (1, 1));
    assert!(gathered.unreadable[0].to_string().contains("result.json"));
    // What a run came to is not needed to go on with it.
    resume(&broken, Some(45), u64::MAX).expect("it goes on");
    assert_eq!(gather(&[parent.path().to_owned()]).found.len(), 2);
}
