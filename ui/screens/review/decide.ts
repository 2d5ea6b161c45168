import { call } from '../../api.ts'
import type { DecideReply } from '../../wire.ts'

/**
 * One version in one distribution, as a decision names it. `seenAt` is the `updated_at` that the reviewer looked at.
 */
export interface Subject {
  readonly name: string
  readonly version: string
  readonly distribution: string
  readonly arch: string
  readonly seenAt: string
}

export const DECISIONS = [
  {
    id: 'approve',
    key: 'a',
    word: 'Approve',
    one: 'Publish it.',
    many: 'Publish all of them.',
    verb: 'Approve',
    done: 'Approved',
    publishes: true,
    ends: '',
  },
  {
    id: 'accept_risk',
    key: 's',
    word: 'Accept the risk',
    one: 'Publish until a date, then ask again.',
    many: 'Publish until a date, then ask again.',
    verb: 'Accept the risk',
    done: 'Risk accepted',
    publishes: true,
    ends: '90',
  },
  {
    id: 'exception',
    key: 'e',
    word: 'Make an exception',
    one: 'Publish, and mark it as outside the policy.',
    many: 'Publish, and mark them as outside the policy.',
    verb: 'Make an exception',
    done: 'Exception made',
    publishes: true,
    ends: '',
  },
  {
    id: 'false_positive',
    key: 'f',
    word: 'Report a false positive',
    one: 'Publish; the ticked findings are wrong.',
    many: 'Only for one package, with its findings ticked.',
    verb: 'Report a false positive',
    done: 'False positive reported',
    publishes: true,
    ends: '',
  },
  {
    id: 'upgrade_required',
    key: 'u',
    word: 'Require an upgrade',
    one: 'Stay unpublished; ask for a fixed version.',
    many: 'Stay unpublished; ask for fixed versions.',
    verb: 'Require an upgrade',
    done: 'Upgrade required',
    publishes: false,
    ends: '',
  },
  {
    id: 'reject',
    key: 'r',
    word: 'Reject',
    one: 'Stay unpublished.',
    many: 'Stay unpublished.',
    verb: 'Reject',
    done: 'Rejected',
    publishes: false,
    ends: '',
  },
] as const
export type DecisionId = (typeof DECISIONS)[number]['id']
export type DecisionWords = (typeof DECISIONS)[number]

export function decisionWords(id: string): DecisionWords | undefined {
  return DECISIONS.find(one => one.id === id)
}

/** Where a reason begins; a template is a start and never the whole reason. */
export const TEMPLATES: readonly { readonly word: string; readonly text: string }[] = [
  { word: 'Not reachable', text: 'The vulnerable code is not reachable here, because ' },
  { word: 'Compensating control', text: 'The risk is contained by ' },
  { word: 'False positive', text: 'This does not apply: ' },
  { word: 'Fix is published', text: 'A fixed version is published: ' },
  { word: 'Fix is planned', text: 'The fixed version is planned for ' },
  { word: 'Risk too high', text: 'The risk is too high for us, because ' },
]

export const ENDS: readonly { readonly value: string; readonly word: string }[] = [
  { value: '', word: 'No end' },
  { value: '30', word: 'In 30 days' },
  { value: '90', word: 'In 90 days' },
  { value: '180', word: 'In 180 days' },
  { value: '365', word: 'In a year' },
  { value: 'date', word: 'On a date' },
]

/** The values of the form. `date` as `2027-02-20`, used when `ends` is `date`. */
export interface Said {
  readonly decision: DecisionId
  readonly justification: string
  readonly ends: string
  readonly date: string
  readonly cves: readonly string[]
}

/** The evening of that day, where the reviewer is. */
export function endOf(date: string): string | undefined {
  const end = new Date(`${date}T23:59:59`)
  return Number.isNaN(end.getTime()) ? undefined : end.toISOString()
}

/** Sends one decision. @throws ApiProblem; 409 when somebody else was first, 403 `four_eyes` */
export async function send(subject: Subject, said: Said): Promise<DecideReply> {
  const { name, version, distribution, arch, seenAt } = subject
  const expiresAt = said.ends === 'date' ? endOf(said.date) : undefined
  return call('POST /security/packages/{name}/{version}/decide', {
    params: { name, version },
    keepalive: true,
    body: {
      distribution,
      arch,
      decision: said.decision,
      justification: said.justification.trim(),
      seen_at: seenAt,
      ...(said.cves.length > 0 ? { cves: [...said.cves] } : {}),
      ...(expiresAt !== undefined
        ? { expires_at: expiresAt }
        : said.ends !== '' && said.ends !== 'date'
          ? { expires_days: Number(said.ends) }
          : {}),
    },
  })
}
