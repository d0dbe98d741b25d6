//! Whether two runs were made on the same machine, as far as their figures may be compared.

use crate::arena::machine::environment::Environment;

/// The kernel keeps a little of the memory for itself, not always the same.
const MEMORY_SLACK: f64 = 0.02;

/// What differs between two machines, in words. Nothing: figures of the one may be set against those of the other.
pub(crate) fn differences(a: &Environment, b: &Environment) -> Vec<String> {
    let mut found = Vec::new();
    let mut unequal = |what: &str, a: &str, b: &str| {
        if a != b {
            found.push(format!("{what} {a} and {b}"));
        }
    };
    unequal("CPU", &a.cpu, &b.cpu);
    unequal("cores", &a.cores.to_string(), &b.cores.to_string());
    unequal("kernel", &a.kernel, &b.kernel);
    let governor = |e: &Environment| e.governor.clone().unwrap_or_else(|| "none".to_owned());
    unequal("governor", &governor(a), &governor(b));
    #[expect(clippy::cast_precision_loss, reason = "for a ratio")]
    let (least, most) = (a.memory.min(b.memory) as f64, a.memory.max(b.memory) as f64);
    if most - least > MEMORY_SLACK * most {
        unequal(
            "memory",
            &crate::arena::units::bytes(a.memory),
            &crate::arena::units::bytes(b.memory),
        );
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_is_itself_and_no_other() {
        let this = Environment::capture();
        let mut other = this.clone();
        other.memory -= other.memory / 1000;
        other.load1 += 1.0;
        assert_eq!(differences(&this, &other), [""; 0]);
        other.memory /= 2;
        other.cpu = "Another CPU".to_owned();
        other.governor = Some("powersave".to_owned());
        let found = differences(&this, &other).join("; ");
        for word in ["Another CPU", "powersave", "memory"] {
            assert!(found.contains(word), "{found}");
        }
    }
}
