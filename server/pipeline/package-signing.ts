import type { PackageSignature } from '../core/manifest.ts'
import type { Inspection } from '../formats/format.ts'
import type { SpooledFile, Spool } from '../files/spool.ts'
import { isoNow, type Clock } from '../lib/clock.ts'
import type { Settings } from '../settings/store.ts'
import type { Keyring } from '../signing/signer.ts'
import type { Subject } from './subject.ts'

/** The file to admit: as it arrived, or with this repository's signature in it. */
export interface Sealed {
  readonly file: SpooledFile
  readonly facts: unknown
  readonly signed?: PackageSignature
}

/**
 * Puts this repository's signature into a package where the settings ask for it and the format has a place for one. It
 * comes after the verdict: the steps look at what arrived. A caller who gets another file back must discard it.
 * @throws no_signing_key
 */
export type PackageSigning = (subject: Pick<Subject, 'file' | 'format'>, inspection: Inspection) => Promise<Sealed>

export interface PackageSigningDeps {
  readonly spool: Pick<Spool, 'receive'>
  readonly keyring: Pick<Keyring, 'signer'>
  readonly settings: Pick<Settings, 'now'>
  readonly clock: Clock
}

/** Makes package signing with the keys that sign the indexes. */
export function createPackageSigning({ spool, keyring, settings, clock }: PackageSigningDeps): PackageSigning {
  return async ({ file, format }, { facts }) => {
    if (format.sign === undefined || !settings.now().signing.rpm_packages) return { file, facts }
    const signer = await keyring.signer()
    const made = await format.sign(file, { facts, signer })
    // the verdict is carried out, whether or not the sender still listens
    const signed = await spool.receive(made.bytes, {
      filename: file.filename,
      isUrgent: true,
      limitBytes: Number.MAX_SAFE_INTEGER,
      signal: new AbortController().signal,
    })
    return {
      file: signed,
      facts: made.facts,
      signed: { key: signer.keys[0]?.fingerprint ?? '', at: isoNow(clock), received: file.blob },
    }
  }
}
