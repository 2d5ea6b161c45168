/** `8.0-1` of `2:8.0-1`, as a source package's header has it. */
export const withoutEpoch = (version: string): string => version.replace(/^\d+:/, '')
