export const DAEMON_FLAGS: readonly string[]
export declare const DAEMON_ENV: Readonly<Record<string, string>>
