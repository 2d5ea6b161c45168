import { antivirusSilence } from '../core/policy.ts'
import type { Report } from '../core/report.ts'
import { EngineUnavailable, type AntivirusAnswer, type AntivirusScanner } from '../scanners/scanner.ts'
import { scanSubject, type Step } from './subject.ts'

type Answer = AntivirusAnswer | { readonly kind: 'unavailable'; readonly isSetUp: boolean; readonly why?: string }

// the deciding answer first: one engine that found something outweighs all that did not
const ORDER = ['infected', 'unavailable', 'unscannable', 'clean'] as const

/** @param isLater  a scan after admission, which may only hold */
function reportOf(answer: Answer, isLater: boolean): Report {
  switch (answer.kind) {
    case 'clean':
      return { step: 'antivirus', outcome: 'ok', verdict: 'clean', said: 'No malware was found.' }
    case 'infected':
      return {
        step: 'antivirus',
        outcome: 'failed',
        verdict: 'infected',
        quarantine: true,
        said: `${answer.signature} was found in ${answer.where}. ${isLater ? 'The package waits for review' : 'The file is in quarantine'} and is not served.`,
      }
    // not a fault of the package alone: limits are the engine's, so a person decides where scans must not be missing
    case 'unscannable':
      return {
        step: 'antivirus',
        outcome: 'unavailable',
        verdict: 'unscannable',
        said: `${answer.where} could not be scanned whole: ${answer.why}.`,
      }
    case 'unavailable':
      return {
        step: 'antivirus',
        outcome: 'unavailable',
        verdict: 'unavailable',
        said:
          answer.isSetUp && answer.why !== undefined
            ? `${antivirusSilence('no_answer').slice(0, -1)}: ${answer.why}.`
            : antivirusSilence(answer.isSetUp ? 'no_answer' : 'not_set_up'),
      }
  }
}

/** Step 3. Every engine looks at every inner archive. An engine that gives up or is absent is never read as clean. */
export function antivirusStep(scanners: readonly AntivirusScanner[]): Step {
  return {
    name: 'antivirus',
    async run(subject, signal) {
      if (!subject.settings.validation.clamav_scan) {
        return {
          step: 'antivirus',
          outcome: 'skipped',
          verdict: 'skipped',
          said: 'The antivirus scan is switched off (validation.clamav_scan).',
        }
      }
      const scan = await scanSubject(subject, signal)
      const answers = await Promise.all(
        scanners.map(async (scanner): Promise<Answer> => {
          try {
            return await scanner.scan(scan, signal)
          } catch (error) {
            if (error instanceof EngineUnavailable)
              return { kind: 'unavailable', isSetUp: scanner.isConfigured !== false, why: error.message }
            throw error
          }
        }),
      )
      const [worst] = answers.sort((a, b) => ORDER.indexOf(a.kind) - ORDER.indexOf(b.kind))
      return reportOf(worst ?? { kind: 'unavailable', isSetUp: false }, subject.again !== undefined)
    },
  }
}
