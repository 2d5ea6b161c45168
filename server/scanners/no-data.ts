import type { VulnerabilityScanner } from './scanner.ts'

/** The engine of a deployment that has none yet: it finds nothing, and says that this is not the same as there being nothing. */
export const noDataScanner: VulnerabilityScanner = {
  id: 'none',
  kind: 'vulnerability',
  status: async () => ({ id: 'none', ok: false, error: 'No vulnerability data is loaded.' }),
  scan: async ({ distribution }) => ({ coverage: 'no_data', findings: [], said: `No vulnerability data is loaded for ${distribution.label}, so nothing was looked up.` }),
}
