import type { Finding, Severity, SeveritySource } from '../../core/findings.ts'
import type { CveRating } from '../advisory.ts'
import type { Family } from './ecosystems.ts'
import { bestScore, ratingOf } from './severity.ts'

/** Another distribution's word about the CVE: of the relative first. */
function wordOf(
  { ubuntu, red_hat }: CveRating,
  { listsBuilds }: Family,
): readonly [Severity, SeveritySource] | undefined {
  const words: readonly (readonly [Severity | undefined, SeveritySource])[] = [
    [ubuntu, 'ubuntu'],
    [red_hat, 'red_hat'],
  ]
  for (const [word, source] of listsBuilds === true ? words.toReversed() : words)
    if (word !== undefined) return [word, source]
  return undefined
}

/**
 * Rates a finding by what is known of its CVE elsewhere, where its own advisories have no word: Ubuntu's or Red Hat's
 * rating, then the score of another advisory, then the NVD's. A language's own score stays before other words. The
 * finding says whose word it is.
 */
export function rateFinding(finding: Finding, known: CveRating, family: Family): Finding {
  const alias = bestScore(known.vectors ?? [])
  const nvd = bestScore(known.nvd ?? [])
  const cvss = finding.cvss ?? alias ?? nvd
  const scored = cvss === undefined ? finding : { ...finding, cvss }
  const isWord = finding.severity_source === 'distribution' || finding.severity_source === 'advisory'
  if (isWord || (family.kind === 'language' && finding.severity !== 'unknown')) return scored
  const word = wordOf(known, family)
  if (word !== undefined) return { ...scored, severity: word[0], severity_source: word[1] }
  if (finding.severity !== 'unknown' || cvss === undefined) return scored
  return { ...scored, severity: ratingOf(cvss), severity_source: cvss === nvd ? 'nvd' : 'alias_cvss' }
}
