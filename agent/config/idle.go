package config

// Why options that the other agent takes have no effect in this one.
const (
	otherLogging  = "the log is text or JSON (use_json) on standard error or in log_file"
	oneProcess    = "privileged work is done in this process, without helpers"
	notOfThisKind = "this agent has no such service library"
	noLockFiles   = "this agent takes no file locks"
)

// idleOptions are accepted and checked, but have no effect here (config.md §2.4,
// §2.5).
func idleOptions() []*option {
	table := []*option{
		idle(agentSection, "root_helper", "sudo", text, oneProcess),
		idle(defaultSection, "log_options", "True", boolean, notOfThisKind),
		idle(defaultSection, "graceful_shutdown_timeout", "60", integer, "stopping waits for nothing but the change under way"),
		idle(defaultSection, "backdoor_port", "", text, notOfThisKind),
		idle(defaultSection, "backdoor_socket", "", text, notOfThisKind),
		idle("oslo_concurrency", "disable_process_locking", "False", boolean, noLockFiles),
		idle("oslo_concurrency", "lock_path", "", text, noLockFiles),
	}
	table = append(table, idleLogging()...)
	for _, section := range []string{"privsep", "privsep_ovs_vsctl", "privsep_vtysh"} {
		table = append(table, idlePrivsep(section)...)
	}
	return table
}

func idle[T any](section, name, fallback string, parse func(string) (T, error), why string) *option {
	set := func(_ *Config, text string) error {
		_, err := parse(text)
		return err
	}
	return &option{place: place{section, name}, fallback: fallback, optional: fallback == "", set: set, idle: why}
}

// idleLogging are the options of the logging library.
func idleLogging() []*option {
	log := func(name, fallback string) *option {
		return idle(defaultSection, name, fallback, text, otherLogging)
	}
	flag := func(name string) *option { return idle(defaultSection, name, "False", boolean, otherLogging) }
	number := func(name, fallback string) *option {
		return idle(defaultSection, name, fallback, integer, otherLogging)
	}
	level := idle(defaultSection, "rate_limit_except_level", "CRITICAL", choice("CRITICAL", "ERROR", "INFO", "WARNING", "DEBUG"), otherLogging)
	level.optional = true // empty: all levels
	return []*option{
		log("log_config_append", "").formerly(defaultSection, "log_config"),
		log("log_date_format", "%Y-%m-%d %H:%M:%S"),
		flag("watch_log_file"),
		flag("use_syslog"),
		flag("use_journal"),
		log("syslog_log_facility", "LOG_USER"),
		flag("use_stderr"),
		flag("log_color"),
		flag("publish_errors"),
		flag("fatal_deprecations"),
		number("log_rotate_interval", "1"),
		idle(defaultSection, "log_rotate_interval_type", "days", anyCase("Seconds", "Minutes", "Hours", "Days", "Weekday", "Midnight"), otherLogging),
		number("max_logfile_count", "30"),
		number("max_logfile_size_mb", "200"),
		idle(defaultSection, "log_rotation_type", "none", anyCase("interval", "size", "none"), otherLogging),
		log("logging_context_format_string", ""),
		log("logging_default_format_string", ""),
		log("logging_debug_format_suffix", ""),
		log("logging_exception_prefix", ""),
		log("logging_user_identity_format", ""),
		log("instance_format", ""),
		log("instance_uuid_format", ""),
		idle(defaultSection, "default_log_levels", "", list, otherLogging),
		number("rate_limit_interval", "0"),
		number("rate_limit_burst", "0"),
		level,
	}
}

// idlePrivsep are the options of one privileged helper of the other agent.
func idlePrivsep(section string) []*option {
	return []*option{
		idle(section, "user", "", text, oneProcess),
		idle(section, "group", "", text, oneProcess),
		idle(section, "capabilities", "", list, oneProcess),
		idle(section, "thread_pool_size", "", within[uint32](1, 1<<31-1), oneProcess),
		idle(section, "helper_command", "", text, oneProcess),
		idle(section, "logger_name", "oslo_privsep.daemon", text, oneProcess),
		idle(section, "log_daemon_traceback", "False", boolean, oneProcess),
	}
}
