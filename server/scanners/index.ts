import { createClamd, type ClamdDeps } from './clamd.ts'
import { noDataScanner } from './no-data.ts'
import type { AntivirusScanner, VulnerabilityScanner } from './scanner.ts'

/** Every engine, by what it looks for. Each step asks all of its kind. */
export interface Scanners {
  readonly antivirus: readonly AntivirusScanner[]
  readonly vulnerability: readonly VulnerabilityScanner[]
}

/** The list of engines. A new one is a file beside this and an entry here. */
export function createScanners(deps: { readonly clamd: ClamdDeps }): Scanners {
  return { antivirus: [createClamd(deps.clamd)], vulnerability: [noDataScanner] }
}
