import type { Evidence, Finding } from './findings.ts'

/** What one record says, in a sentence. */
export const sayEvidence = ({ record, source, data_at, modified, says }: Evidence): string =>
  `${record}${modified === undefined ? '' : `, changed on ${modified.slice(0, 10)}`}, in ${source}${data_at === undefined ? '' : ` of ${data_at.slice(0, 10)}`}, names ${says}.`

/**
 * Why there is a finding: the file and the rule that found what it is about, what was looked up, and which record says
 * so. Empty where nothing of it was recorded.
 */
export function whyOf({ at, matched, evidence = [] }: Pick<Finding, 'at' | 'matched' | 'evidence'>): string[] {
  return [
    ...(at === undefined
      ? []
      : [
          `${at.path} ${at.presence === 'shipped' ? 'is or holds' : 'asks for'} ${at.purl}: ${at.confidence}, by the rule ${at.rule}.`,
        ]),
    ...(matched === undefined
      ? []
      : [`It was looked up as ${matched.name} ${matched.version} in the data for ${matched.ecosystem}.`]),
    ...evidence.map(sayEvidence),
  ]
}
