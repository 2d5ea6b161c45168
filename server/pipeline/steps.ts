import type { AntivirusScanner, VulnerabilityScanner } from '../scanners/scanner.ts'
import type { Keyring } from '../signing/signer.ts'
import type { UploaderKeys } from '../signing/uploader-keys.ts'
import { antivirusStep } from './antivirus.ts'
import { dependenciesStep } from './dependencies.ts'
import type { LookUp } from './registry-dependencies.ts'
import { formatStep } from './format-check.ts'
import { provenanceStep } from './provenance.ts'
import { scriptsStep, type ScriptsDeps } from './scripts.ts'
import { createImageSignature, type ImageSignatureDeps } from './image-signatures.ts'
import { signatureStep } from './signature.ts'
import type { Step } from './subject.ts'
import { vulnerabilitiesStep, type Enrich } from './vulnerabilities.ts'

export interface StepDeps extends ScriptsDeps, Pick<ImageSignatureDeps, 'pool' | 'imageKeys'> {
  readonly scanners: {
    readonly antivirus: readonly AntivirusScanner[]
    readonly vulnerability: readonly VulnerabilityScanner[]
  }
  readonly keyring: Pick<Keyring, 'keys' | 'signer'>
  /** Looks packages up by name and version alone, as the dependencies of another. */
  readonly matcher: LookUp
  /** Who may have signed a source package. */
  readonly uploaderKeys: Pick<UploaderKeys, 'check'>
  /** Adds what is known about exploitation to findings, where the settings ask for it. */
  readonly enrich?: Enrich
}

/** The specification's six steps in its order, and that of scripts. */
export function createSteps({
  scanners,
  keyring,
  db,
  contents,
  uploaderKeys,
  enrich,
  matcher,
  pool,
  imageKeys,
}: StepDeps): readonly Step[] {
  return [
    formatStep(db),
    provenanceStep,
    antivirusStep(scanners.antivirus),
    vulnerabilitiesStep(scanners.vulnerability, enrich),
    scriptsStep({ db, contents }),
    signatureStep(keyring, uploaderKeys, createImageSignature({ db, pool, imageKeys })),
    dependenciesStep(db, matcher),
  ]
}
