//! The config as its users meet it: one fixture per mistake, precedence, the example, and secrets.
//!
//! Everything runs through `config::load`, on real files.
#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::time::Duration;

use ledgertop::board::limits::QueueLimits;
use ledgertop::config::settings::{Background, Theme, TimeZone};
use ledgertop::config::{Config, ConfigError, Environment, Flags, Origin, load};
use ledgertop::ledger::policy::{OnUnknown, Policy};
use tempfile::TempDir;

/// A config file in a directory of its own.
struct Fixture {
    directory: TempDir,
}

impl Fixture {
    fn new(text: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let fixture = Self { directory };
        fs::write(fixture.path(), text).unwrap();
        fixture.mode(0o600);
        fixture
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join("config.toml")
    }

    fn mode(&self, mode: u32) {
        fs::set_permissions(self.path(), fs::Permissions::from_mode(mode)).unwrap();
    }

    fn load(&self) -> Result<Config, ConfigError> {
        self.load_with(Flags::default(), &[])
    }

    fn load_with(
        &self,
        flags: Flags,
        variables: &[(&'static str, &str)],
    ) -> Result<Config, ConfigError> {
        let config = Some(self.path());
        let variables = variables.iter().copied();
        load(
            &Flags { config, ..flags },
            &Environment::from_pairs(variables),
        )
    }

    /// The error, with the file's name in place of its path.
    fn error(&self) -> String {
        let path = self.path().display().to_string();
        self.load()
            .unwrap_err()
            .to_string()
            .replace(&path, "config.toml")
    }
}

/// A config with one mistake, and what is said about it.
const MISTAKES: &[(&str, &str)] = &[
    (
        "\n[limits]\noldest_redy = \"2m\"\n",
        "config.toml:3: unknown key 'oldest_redy' in [limits]; did you mean 'oldest_ready'?",
    ),
    (
        "refresh = \"1s\"\n",
        "config.toml:1: unknown key 'refresh' in the file; known: 'limits', 'ledger', \
         'ledgers', 'console', 'keys', 'policies', 'work', 'operate'",
    ),
    (
        "[work.http.status]\n409 = \"final\"\n",
        "config.toml:2: '409' in [work.http.status] is 'final'; allowed: \"done\", or a class \
         and a reason such as \"permanent rejected\"",
    ),
    (
        "[work.http.status]\n\n4xx = \"done\"\n",
        "config.toml:3: unknown key '4xx' in [work.http.status]; known: the numbers from 200 to \
         599",
    ),
    (
        "[work.exec.exit]\n3 = 65\n",
        "config.toml:2: '3' in [work.exec.exit] is a whole number; allowed: \"done\", or a \
         class and a reason such as \"permanent rejected\"",
    ),
    (
        "[work.queues.mail]\nconcurrency = 0\n",
        "config.toml:2: 'concurrency' in [work.queues.mail] is 0; allowed: a whole number from 1 \
         to 1000",
    ),
    (
        "[work.htp.status]\n409 = \"done\"\n",
        "config.toml:1: unknown key 'htp' in [work]; did you mean 'http'?",
    ),
    (
        "[limits.queues.mail]\noldest_raedy = \"2m\"\n",
        "config.toml:2: unknown key 'oldest_raedy' in [limits.queues.mail]; did you mean \
         'oldest_ready'?",
    ),
    (
        "[console]\nrefresh = 5\n",
        "config.toml:2: 'refresh' in [console] is a whole number; allowed: a duration from \
         250ms to 1m, such as \"30s\"",
    ),
    (
        "[console]\nrefresh = \"2h\"\n",
        "config.toml:2: 'refresh' in [console] is '2h'; allowed: a duration from 250ms to 1m, \
         such as \"30s\"",
    ),
    (
        "[console]\ntheme = \"solarized\"\n",
        "config.toml:2: 'theme' in [console] is 'solarized'; allowed: 'standard', \
         'high_contrast' or 'mono'",
    ),
    (
        "[console]\ntime_zone = \"Mars/Olympus\"\n",
        "config.toml:2: 'time_zone' in [console] is 'Mars/Olympus'; allowed: 'utc', 'local', \
         'relative' or a name such as 'Europe/Berlin'",
    ),
    (
        "[policies.slow]\nmax_attempts = 0\n",
        "config.toml:2: 'max_attempts' in [policies.slow] is 0; allowed: a whole number from \
         1 to 1000000",
    ),
    (
        "[policies.slow]\nmax_attempts = 2.5\n",
        "config.toml:2: 'max_attempts' in [policies.slow] is a number with a fraction; \
         allowed: a whole number from 1 to 1000000",
    ),
    (
        "[policies.slow]\nmax_attempts = -1\n",
        "config.toml:2: 'max_attempts' in [policies.slow] is -1; allowed: a whole number from \
         1 to 1000000",
    ),
    (
        "[policies.slow]\non_unknown = \"ignore\"\n",
        "config.toml:2: 'on_unknown' in [policies.slow] is 'ignore'; allowed: \
         'bounded_retry' or 'hold'",
    ),
    (
        "[policies.slow]\nbackoff_base = \"1h\"\nbackoff_cap = \"1m\"\n",
        "config.toml:1: [policies.slow]: 'backoff_base' (1h) may not be longer than \
         'backoff_cap' (1m)",
    ),
    (
        "[limits]\noldest_ready = \"5m\"\noldest_ready_critical = \"1m\"\n",
        "config.toml:3: [limits]: 'oldest_ready_critical' may not be below 'oldest_ready'",
    ),
    (
        "[ledgers.prod]\nread_only = \"yes\"\nurl = \"sqlite:a.db\"\n",
        "config.toml:2: 'read_only' in [ledgers.prod] is a text; allowed: true or false",
    ),
    (
        "\n[ledgers.prod]\n",
        "config.toml:2: [ledgers.prod] needs 'url': \"sqlite:PATH\" or \
         \"postgres://USER@HOST/DATABASE\"",
    ),
    (
        "ledger = \"prdo\"\n[ledgers.prod]\nurl = \"sqlite:a.db\"\n",
        "config.toml:1: 'ledger' names [ledgers.prdo], which is not there; did you mean \
         'prod'?",
    ),
    (
        "console = 1\n",
        "config.toml:1: 'console' in the file is a whole number; allowed: a section [console]",
    ),
    (
        "[ledgers]\nprod = \"sqlite:a.db\"\n",
        "config.toml:2: 'prod' in [ledgers] is a text; allowed: a section [ledgers.prod]",
    ),
    (
        "[keys]\nsort = 1\n",
        "config.toml:2: 'sort' in [keys] is a whole number; allowed: a key such as \
         \"ctrl-d\", or a list of them",
    ),
];

#[test]
fn each_mistake_names_its_line_its_key_and_what_is_allowed() {
    for (text, said) in MISTAKES {
        assert_eq!(&Fixture::new(text).error(), said, "{text}");
    }
}

#[test]
fn all_mistakes_are_told_at_once_by_line() {
    let fixture = Fixture::new("[limits]\nx = 1\n[console]\ntheme = 1\nrefesh = \"1s\"\n");
    let error = fixture.error();
    let lines: Vec<&str> = error
        .lines()
        .filter_map(|line| line.split_once(": "))
        .map(|(place, _)| place)
        .collect();
    assert_eq!(lines, ["config.toml:2", "config.toml:4", "config.toml:5"]);
}

#[test]
fn what_is_no_toml_is_named_by_line() {
    let error = Fixture::new("[console]\ntheme = \"dark\n").error();
    assert!(
        error.starts_with("config.toml:2: not valid TOML: "),
        "{error}"
    );
}

#[test]
fn no_mistake_shows_a_password() {
    for text in [
        "[ledgers.a]\nurl = \"postgress://ann:s3cret@db/jobs\"\n",
        "[ledgers.a]\nurl = \"postgres://ann:s3cret@db/jobs\n",
        "[ledgers.a]\nurl = [\"postgres://ann:s3cret@db/jobs\"]\n",
        "ledger = \"x\"\n[ledgers.a]\nurl = \"postgres://ann:s3cret@db/jobs\"\n",
        "[ledgers.a]\nurl = \"postgres://ann:s3cret@db/jobs\"\nx = 1\n",
        "[ledgers.a]\nurl = postgres://ann:s3cret@db/jobs\n",
    ] {
        let error = Fixture::new(text).load().unwrap_err();
        let said = format!("{error} {error:?}");
        assert!(!said.contains("s3cret"), "{said}");
    }
}

#[test]
fn a_file_with_a_password_is_for_its_owner_only() {
    let secret = "\n[ledgers.a]\nurl = \"postgres://ann:s3cret@db/jobs\"\n";
    let fixture = Fixture::new(secret);
    let config = fixture.load().unwrap();
    assert!(!format!("{config:?}").contains("s3cret"));
    fixture.mode(0o640);
    let said = fixture.error();
    assert_eq!(
        said,
        "config.toml holds a password (line 3) and others may read it (mode 0640); nothing was \
         opened; mend it with: chmod 600 config.toml"
    );
    let open = Fixture::new("[ledgers.a]\nurl = \"postgres://ann@db/jobs\"\n");
    open.mode(0o644);
    assert!(open.load().is_ok());
}

#[test]
fn a_password_in_a_flag_is_refused_and_not_repeated() {
    let flags = Flags {
        ledger: Some("postgres://ann:s3cret@db/jobs".to_owned()),
        ..Flags::default()
    };
    let error = load(&flags, &Environment::default()).unwrap_err();
    assert_eq!(error, ConfigError::PasswordInArguments);
    let said = format!("{error} {error:?}");
    assert!(
        said.contains("PGPASSFILE") && !said.contains("s3cret"),
        "{said}"
    );
}

#[test]
fn a_missing_file_is_an_error_only_where_it_was_named() {
    let directory = tempfile::tempdir().unwrap();
    let home = directory.path().to_str().unwrap();
    let nothing = load(
        &Flags::default(),
        &Environment::from_pairs([("HOME", home)]),
    )
    .unwrap();
    assert!(!nothing.file_exists);
    assert!(nothing.file.ends_with(".config/ledgertop/config.toml"));
    let path = directory.path().join("none.toml");
    let flags = Flags {
        config: Some(path.clone()),
        ..Flags::default()
    };
    let error = load(&flags, &Environment::default())
        .unwrap_err()
        .to_string();
    assert!(
        error.ends_with("none.toml', which --config names"),
        "{error}"
    );
    let named = Environment::from_pairs([("LEDGERTOP_CONFIG", path)]);
    let error = load(&Flags::default(), &named).unwrap_err().to_string();
    assert!(
        error.ends_with("none.toml', which LEDGERTOP_CONFIG names"),
        "{error}"
    );
}

#[test]
fn the_example_is_equal_to_the_defaults() {
    let example = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/config.example.toml"));
    let example = Fixture::new(&example.unwrap()).load().unwrap();
    let nothing = load(&Flags::default(), &Environment::default()).unwrap();
    assert_eq!(example.console.refresh.value, nothing.console.refresh.value);
    assert_eq!(example.console.theme.value, nothing.console.theme.value);
    assert_eq!(
        example.console.background.value,
        nothing.console.background.value
    );
    assert_eq!(
        example.console.time_zone.value,
        nothing.console.time_zone.value
    );
    assert_eq!(example.limits, nothing.limits);
    assert_eq!(example.policies, nothing.policies);
    assert_eq!(example.keys, nothing.keys);
    assert_eq!(example.work, nothing.work);
    assert_eq!(example.ledger, nothing.ledger);
    assert_eq!(example.ledgers, nothing.ledgers);
}

#[test]
fn what_the_example_shows_in_comments_is_allowed_too() {
    let example = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/config.example.toml"));
    let shown = example
        .unwrap()
        .lines()
        .map(|line| {
            let code = line.strip_prefix("# ").filter(|code| {
                code.starts_with('[') || code.split_once(" = ").is_some_and(|(key, _)| is_key(key))
            });
            code.unwrap_or(line)
        })
        .collect::<Vec<_>>()
        .join("\n");
    let config = Fixture::new(&shown).load().unwrap();
    assert_eq!(config.ledgers.len(), 2);
    assert_eq!(config.ledger.unwrap().value.name.as_str(), "prod");
    assert_eq!(config.limits.queues.len(), 1);
}

fn is_key(text: &str) -> bool {
    text.chars()
        .all(|each| each.is_ascii_lowercase() || each == '_')
}

#[test]
fn a_flag_is_over_the_environment_over_the_file_over_the_default() {
    let fixture = Fixture::new(
        "ledger = \"file\"\n[ledgers.file]\nurl = \"sqlite:/f.db\"\n[ledgers.env]\nurl = \
         \"sqlite:/e.db\"\n[console]\nrefresh = \"3s\"\ntheme = \"mono\"\n",
    );
    let variables = [
        ("LEDGERTOP_LEDGER", "env"),
        ("LEDGERTOP_REFRESH", "2s"),
        ("LEDGERTOP_BACKGROUND", "light"),
        ("NO_COLOR", "1"),
    ];
    let flags = Flags {
        ledger: Some("sqlite:/flag.db".to_owned()),
        refresh: Some(Duration::from_secs(1)),
        ..Flags::default()
    };
    let all = fixture.load_with(flags, &variables).unwrap();
    let ledger = all.ledger.unwrap();
    assert_eq!(ledger.value.url.expose(), "sqlite:/flag.db");
    assert_eq!(ledger.origin, Origin::Flag("--ledger"));
    assert_eq!(all.console.refresh.value, Duration::from_secs(1));
    assert_eq!(all.console.refresh.origin, Origin::Flag("--refresh"));
    assert_eq!(all.console.background.value, Background::Light);
    assert_eq!(all.console.theme.value, Theme::Mono);
    assert_eq!(all.console.theme.origin, Origin::Line(8));
    assert_eq!(all.console.time_zone.value, TimeZone::Utc);
    assert_eq!(all.console.time_zone.origin, Origin::Default);
    assert_eq!(all.console.no_color.origin, Origin::Variable("NO_COLOR"));

    let no_flags = fixture.load_with(Flags::default(), &variables).unwrap();
    let ledger = no_flags.ledger.unwrap();
    assert_eq!(ledger.value.url.expose(), "sqlite:/e.db");
    assert_eq!(ledger.origin, Origin::Variable("LEDGERTOP_LEDGER"));
    assert_eq!(no_flags.console.refresh.value, Duration::from_secs(2));

    let file = fixture.load().unwrap();
    let ledger = file.ledger.unwrap();
    assert_eq!(ledger.value.url.expose(), "sqlite:/f.db");
    assert_eq!(ledger.origin, Origin::Line(1));
    assert_eq!(file.console.refresh.value, Duration::from_secs(3));
    assert!(!file.console.no_color.value);
}

#[test]
fn a_variable_that_is_not_understood_is_named() {
    let fixture = Fixture::new("");
    let error = fixture
        .load_with(Flags::default(), &[("LEDGERTOP_REFRESH", "fast")])
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "LEDGERTOP_REFRESH is 'fast'; allowed: a duration from 250ms to 1m, such as \"30s\""
    );
}

#[test]
fn a_ledger_that_is_not_known_is_named_with_the_nearest() {
    let fixture = Fixture::new("[ledgers.prod-eu]\nurl = \"sqlite:a.db\"\n");
    let error = fixture
        .load_with(Flags::default(), &[("LEDGERTOP_LEDGER", "prod-ue")])
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "LEDGERTOP_LEDGER names the ledger 'prod-ue', which is neither a URL nor one of \
         [ledgers] in the config; did you mean 'prod-eu'?"
    );
}

#[test]
fn the_only_ledger_of_a_file_needs_no_choice_and_lies_beside_it() {
    let fixture = Fixture::new("[ledgers.here]\nurl = \"sqlite:a.db\"\nread_only = true\n");
    let config = fixture.load().unwrap();
    assert!(config.read_only.value);
    let expected = format!("sqlite:{}/a.db", fixture.directory.path().display());
    assert_eq!(config.ledger().unwrap().url.expose(), expected);
    let two = Fixture::new("[ledgers.a]\nurl = \"sqlite:a\"\n[ledgers.b]\nurl = \"sqlite:b\"\n");
    let error = two.load().unwrap().ledger().unwrap_err().to_string();
    assert!(
        error.starts_with("no ledger is named: give --ledger"),
        "{error}"
    );
}

#[test]
fn limits_of_a_queue_lie_over_those_of_all() {
    let fixture = Fixture::new(
        "[limits]\noldest_ready = \"30m\"\n[limits.queues.digest]\nexpired_leases = 7\n",
    );
    let limits = fixture.load().unwrap().limits;
    let default = QueueLimits::default();
    assert_eq!(limits.default.oldest_ready.warning, Duration::from_mins(30));
    assert_eq!(
        limits.default.oldest_ready.critical,
        Duration::from_mins(30)
    );
    assert_eq!(
        limits.default.oldest_dead_letter,
        default.oldest_dead_letter
    );
    let digest = limits.of("digest");
    assert_eq!(digest.expired_leases.warning, 7);
    assert_eq!(digest.oldest_ready, limits.default.oldest_ready);
    assert_eq!(limits.of("mail"), &limits.default);
}

#[test]
fn a_policy_takes_from_the_default_what_it_does_not_say() {
    let fixture = Fixture::new(
        "[policies.slow]\nmax_attempts = 3\nmax_age = \"2d\"\non_unknown = \"hold\"\n",
    );
    let policies = fixture.load().unwrap().policies;
    let expected = Policy {
        name: "slow".to_owned(),
        max_attempts: 3,
        max_age: Duration::from_hours(48),
        on_unknown: OnUnknown::Hold,
        ..Policy::default_v1()
    };
    assert_eq!(policies.get("slow"), Some(&expected));
    assert_eq!(policies.get("default"), Some(&Policy::default_v1()));
}

#[test]
fn a_key_takes_one_text_or_a_list() {
    let fixture = Fixture::new("[keys]\nsort = \"s\"\nquit = [\"q\", \"ctrl-c\"]\n");
    let keys = fixture.load().unwrap().keys;
    assert_eq!(keys.get("sort").unwrap().value, ["s"]);
    assert_eq!(keys.get("quit").unwrap().value, ["q", "ctrl-c"]);
    assert_eq!(keys.get("quit").unwrap().line, 3);
}
