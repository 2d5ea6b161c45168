export const DAEMON_FLAGS: readonly string[]
