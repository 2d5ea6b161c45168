import { isOfDependency, type Evidence, type Finding, type FoundIn } from './findings.ts'

/** What one record says, in a sentence. */
export const sayEvidence = ({ record, source, data_at, modified, says }: Evidence): string =>
  `${record}${modified === undefined ? '' : `, changed on ${modified.slice(0, 10)}`}, in ${source}${data_at === undefined ? '' : ` of ${data_at.slice(0, 10)}`}, names ${says}.`

/** Which file names a component, how surely, and by which rule. */
function sayFound({ path, purl, presence, confidence, rule }: FoundIn): string {
  if (isOfDependency({ at: { path, purl, presence, confidence, rule } }))
    return `The package ${path}, for which ${purl} was looked up.`
  const said =
    presence === 'declared'
      ? `asks for ${purl}; whether it was built in cannot be seen`
      : `says that ${purl} is ${confidence === 'probable' ? 'probably ' : ''}in the package`
  return `${path} ${said} (rule ${rule}).`
}

/**
 * Why there is a finding: the file and the rule that found what it is about, what was looked up, and which record says
 * so. Empty where nothing of it was recorded.
 */
export function whyOf({ at, matched, evidence = [] }: Pick<Finding, 'at' | 'matched' | 'evidence'>): string[] {
  return [
    ...(at === undefined ? [] : [sayFound(at)]),
    ...(matched === undefined
      ? []
      : [`It was looked up as ${matched.name} ${matched.version} in the data for ${matched.ecosystem}.`]),
    ...evidence.map(sayEvidence),
  ]
}
