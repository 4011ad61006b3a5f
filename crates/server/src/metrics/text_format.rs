//! Metrics in the older text format of Prometheus, version 0.0.4, made of OpenMetrics text; and which of both a scraper
//! wants.
//!
//! Source: OpenMetrics 1.0; Prometheus documentation, "Exposition formats"; RFC 9110, 12.5.1.

/// A format of metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TextFormat {
    OpenMetrics,
    /// Version 0.0.4.
    Prometheus,
}

impl TextFormat {
    /// The format that a header `Accept` asks for. Without a wish it is the older one, which every reader knows.
    pub(super) fn wanted(accept: &str) -> Self {
        let mut best = (0.0, Self::Prometheus);
        for part in accept.split(',') {
            let mut words = part.split(';').map(str::trim);
            let format = match words.next() {
                Some("application/openmetrics-text") => Self::OpenMetrics,
                Some("text/plain" | "text/*" | "*/*") => Self::Prometheus,
                _ => continue,
            };
            let quality = words.find_map(|word| word.strip_prefix("q="));
            let quality: f32 = quality.map_or(1.0, |quality| quality.parse().unwrap_or_default());
            // Of two that are wanted as much, the one that says more.
            let is_better = quality > best.0
                || quality > 0.0 && quality == best.0 && format == Self::OpenMetrics;
            if is_better {
                best = (quality, format);
            }
        }
        best.1
    }

    pub(super) fn content_type(self) -> &'static str {
        match self {
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Self::Prometheus => "text/plain; version=0.0.4; charset=utf-8",
        }
    }

    /// Writes metrics that are there as OpenMetrics.
    pub(super) fn written(self, open_metrics: String) -> String {
        match self {
            Self::OpenMetrics => open_metrics,
            Self::Prometheus => prometheus(&open_metrics),
        }
    }
}

/// The samples are the same in both formats. The families of counters and of information are named like their samples,
/// there are no units, and the text has no mark at its end.
fn prometheus(open_metrics: &str) -> String {
    let mut text = String::with_capacity(open_metrics.len() + 1024);
    // The help of a family comes before its type, on which its name depends.
    let mut help = None;
    for line in open_metrics.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            help = rest.split_once(' ');
            continue;
        }
        if let Some((name, kind)) = line
            .strip_prefix("# TYPE ")
            .and_then(|rest| rest.split_once(' '))
        {
            let (suffix, kind) = match kind {
                "counter" => ("_total", kind),
                "info" => ("_info", "gauge"),
                "unknown" => ("", "untyped"),
                kind => ("", kind),
            };
            if let Some((_, help)) = help.take_if(|(helped, _)| *helped == name) {
                let help = help.replace("\\\"", "\"");
                text.push_str(&format!("# HELP {name}{suffix} {help}\n"));
            }
            text.push_str(&format!("# TYPE {name}{suffix} {kind}\n"));
            continue;
        }
        if !line.starts_with('#') {
            text.push_str(line);
            text.push('\n');
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scraper_gets_what_it_asks_for_and_others_the_older_format() {
        use TextFormat::{OpenMetrics, Prometheus};
        let of_prometheus = "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,\
                             text/plain;version=0.0.4;q=0.5,*/*;q=0.1";
        for (accept, expected) in [
            (of_prometheus, OpenMetrics),
            ("", Prometheus),
            ("*/*", Prometheus),
            ("application/json", Prometheus),
            ("text/plain;version=0.0.4", Prometheus),
            (
                "text/plain, application/openmetrics-text; version=1.0.0",
                OpenMetrics,
            ),
            (
                "text/plain;q=0.9, application/openmetrics-text;q=0.2",
                Prometheus,
            ),
            ("application/openmetrics-text;q=0", Prometheus),
            ("application/openmetrics-text;q=x", Prometheus),
        ] {
            assert_eq!(TextFormat::wanted(accept), expected, "{accept}");
        }
    }

    #[test]
    fn families_of_the_older_format_are_named_like_their_samples() {
        let open_metrics = "# HELP a Events of \\\"x\\\".\n# TYPE a counter\n# UNIT a bytes\na_total{t=\"# x\"} 3\n\
            # HELP b A build.\n# TYPE b info\nb_info{v=\"1\"} 1\n# HELP c C.\n# TYPE c histogram\nc_bucket{le=\"+Inf\"} 0\n\
            # HELP d D.\n# TYPE d unknown\nd 1\n# EOF\n";
        let expected = "# HELP a_total Events of \"x\".\n# TYPE a_total counter\na_total{t=\"# x\"} 3\n\
            # HELP b_info A build.\n# TYPE b_info gauge\nb_info{v=\"1\"} 1\n# HELP c C.\n# TYPE c histogram\n\
            c_bucket{le=\"+Inf\"} 0\n# HELP d D.\n# TYPE d untyped\nd 1\n";
        assert_eq!(
            TextFormat::Prometheus.written(open_metrics.to_owned()),
            expected
        );
    }
}
