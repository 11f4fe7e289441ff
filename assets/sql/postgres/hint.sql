-- Tells whoever waits that something may have become ready. A hint only, so it need not be durable.
SELECT set_config('synchronous_commit', 'off', true), pg_notify('ledgertop', '')
