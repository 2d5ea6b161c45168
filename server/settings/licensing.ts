import { GRACE_DAYS, readLicense, standingOf, type License, type Standing } from '../core/license.ts'
import { remainingDays } from '../core/remaining-days.ts'
import type { Clock } from '../lib/clock.ts'
import type { Settings } from './store.ts'

/** What people see of the licence, never the key. */
export interface LicenseCard {
  readonly edition: 'enterprise' | 'community'
  readonly active: boolean
  readonly standing: Standing
  readonly issued_to: string | null
  readonly issued_at: string | null
  readonly expires_at: string | null
  /** A licence sets no limits: always null, which is none. */
  readonly max_packages: number | null
  readonly max_users: number | null
  readonly max_distributions: number | null
  /** What is allowed now beside what every edition has. */
  readonly features: readonly string[]
  readonly license_id: string | null
  /** False for a key that has ended or is none of the vendor's. */
  readonly valid: boolean
  /** Whole days, 0 once it has ended; null where it does not end. */
  readonly days_remaining: number | null
  /** One sentence when something must be done. */
  readonly warning: string | null
}

/** What enterprise rows may do now. */
export type Allowed = 'all' | 'reads' | 'nothing'

export interface Licensing {
  card(): LicenseCard
  allowed(): Allowed
  /** @returns undefined for a key that is not the vendor's */
  read(key: string): License | undefined
}

export interface LicensingDeps {
  readonly edition: 'enterprise' | 'community'
  readonly vendorSecret: string
  readonly settings: Pick<Settings, 'now'>
  readonly clock: Clock
  /** The functions of the enterprise edition, by the names in their refusals. */
  readonly enterprise: () => readonly string[]
}

function warn(standing: Standing, expiresAt: string | undefined): string | null {
  const day = expiresAt?.slice(0, 10) ?? ''
  switch (standing) {
    case 'unlicensed':
    case 'valid':
      return null
    case 'expiring':
      return `The licence ends on ${day}. Ask for a new key, and set it on the page Settings, under Licence.`
    case 'grace':
      return `The licence ended on ${day}. Enterprise functions can be read for ${GRACE_DAYS} days and change nothing.`
    case 'expired':
      return `The licence ended on ${day}. Enterprise functions are locked; everything else goes on.`
    case 'invalid':
      return 'The licence key was not issued for this vendor secret. Set another one on the page Settings, under Licence.'
  }
}

function daysLeft(expiresAt: string | undefined, clock: Clock): number | null {
  if (expiresAt === undefined) return null
  return Math.max(0, remainingDays(new Date(expiresAt), clock.now()))
}

/**
 * EDITION says what is installed, a key for whom and until when. Without a key an enterprise installation allows
 * everything; a key that has ended or is invalid takes that back.
 */
export function createLicensing({ edition, vendorSecret, settings, clock, enterprise }: LicensingDeps): Licensing {
  const read = (key: string): License | undefined => readLicense(key, vendorSecret)
  function look(): { readonly license: License | undefined; readonly standing: Standing } {
    const { key } = settings.now().license
    const license = key === '' ? undefined : read(key)
    return { license, standing: key !== '' && license === undefined ? 'invalid' : standingOf(license, clock.now()) }
  }
  const isActive = (standing: Standing): boolean =>
    edition === 'enterprise' && standing !== 'expired' && standing !== 'invalid'
  return {
    read,
    card() {
      const { license, standing } = look()
      return {
        edition,
        active: isActive(standing),
        standing,
        issued_to: license?.issued_to ?? null,
        issued_at: license?.issued_at ?? null,
        expires_at: license?.expires_at ?? null,
        max_packages: null,
        max_users: null,
        max_distributions: null,
        features: isActive(standing) ? enterprise() : [],
        license_id: license?.id ?? null,
        valid: ['unlicensed', 'valid', 'expiring'].includes(standing),
        days_remaining: daysLeft(license?.expires_at, clock),
        warning: warn(standing, license?.expires_at),
      }
    },
    allowed() {
      const { standing } = look()
      return !isActive(standing) ? 'nothing' : standing === 'grace' ? 'reads' : 'all'
    },
  }
}
