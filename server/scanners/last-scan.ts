import { EngineUnavailable, type EngineStatus, type VulnerabilityScanner } from './scanner.ts'

/** What changes when an engine is repaired. */
const markOf = ({ version, data_version, data_at }: EngineStatus): string => [version, data_version, data_at].join('\n')

/**
 * The engine, whose status also tells that its last scan failed: one that names its version and ends at each scan does
 * not answer. Forgotten after a scan that succeeds, and when its program or data change.
 */
export function rememberFailures(scanner: VulnerabilityScanner): VulnerabilityScanner {
  let failed: { readonly why: string; readonly mark: string } | undefined
  return {
    ...scanner,
    async scan(subject, signal) {
      try {
        const answer = await scanner.scan(subject, signal)
        failed = undefined
        return answer
      } catch (error) {
        if (error instanceof EngineUnavailable)
          failed = { why: error.message, mark: markOf(await scanner.status(signal)) }
        throw error
      }
    },
    async status(signal) {
      const status = await scanner.status(signal)
      if (!status.ok || failed?.mark !== markOf(status)) return status
      return { ...status, ok: false, silence: 'no_answer', error: `Its last scan failed: ${failed.why}.` }
    },
  }
}
