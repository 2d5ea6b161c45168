/** The folder of the checkout. */
export const ROOT: string
/** True when node_modules is what package-lock.json says. */
export function isInstalled(root?: string): boolean
/** True when the console's build is there and no source of it is newer. */
export function isUiBuilt(root?: string): boolean
/** Builds the console where that is missing or old. @returns whether it is good now */
export function buildUiIfNeeded(): Promise<boolean>
