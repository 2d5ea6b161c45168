import { createClamd, type ClamdDeps } from './clamd.ts'
import type { ExternalDeps } from './external.ts'
import { createGrype } from './grype.ts'
import { createTrivy } from './trivy.ts'
import type { AntivirusScanner, VulnerabilityScanner } from './scanner.ts'

/** Every engine, by what it looks for. Each step asks all of its kind. */
export interface Scanners {
  readonly antivirus: readonly AntivirusScanner[]
  readonly vulnerability: readonly VulnerabilityScanner[]
}

export interface ScannerDeps {
  readonly clamd: ClamdDeps
  /** The embedded engine, built with its data. */
  readonly osv: VulnerabilityScanner
  /** Engines that are separate programs; asked where they are installed. */
  readonly programs: { readonly grype: ExternalDeps; readonly trivy: ExternalDeps }
}

/** The list of engines. A new one is a file beside this and an entry here. */
export function createScanners({ clamd, osv, programs }: ScannerDeps): Scanners {
  return {
    antivirus: [createClamd(clamd)],
    vulnerability: [osv, createGrype(programs.grype), createTrivy(programs.trivy)],
  }
}
