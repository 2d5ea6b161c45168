/** Fields of a Release file that an admin can set. Source: wiki.debian.org/DebianRepository/Format */
export interface ReleaseFields {
  /** `NotAutomatic: yes`: apt installs from here only what is requested by name and origin (priority 1). */
  readonly not_automatic: boolean
  /** `ButAutomaticUpgrades: yes`: and apt upgrades packages installed from here (priority 100). */
  readonly but_automatic_upgrades: boolean
  /** For how many days clients accept the root (`Valid-Until`); 0: for ever. */
  readonly valid_days: number
}

/** A root without these fields: the default. */
export const NO_RELEASE_FIELDS: ReleaseFields = { not_automatic: false, but_automatic_upgrades: false, valid_days: 0 }

const DAY_MS = 86_400_000

/** The end of a root made now; undefined: clients accept it for ever. */
export function validUntil({ valid_days }: Pick<ReleaseFields, 'valid_days'>, at: Date): Date | undefined {
  return valid_days === 0 ? undefined : new Date(at.getTime() + valid_days * DAY_MS)
}

/** When a root is signed again: at half of its time, so that it survives an outage of the same length. */
export function renewAt({ at, until }: { readonly at: Date; readonly until: Date }): Date {
  return new Date((at.getTime() + until.getTime()) / 2)
}

/** True in the last quarter of its time, and after it: signing it again has failed for long. */
export function isNearEnd({ at, until }: { readonly at: Date; readonly until: Date }, now: Date): boolean {
  return now.getTime() > until.getTime() - (until.getTime() - at.getTime()) / 4
}
