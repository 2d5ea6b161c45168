import type { Finding } from '../core/findings.ts'
import {
  carriedBy,
  isFalsePositive,
  isSupplied,
  printDecision,
  standOf,
  vulnerabilitySource,
  type Entry,
  type Print,
} from './bill.ts'

type Json = Readonly<Record<string, unknown>>

const UPGRADE = (version: string): string => `Upgrade to ${version}.`

/** Affected statements must say what to do (OpenVEX 0.2.0, "action_statement"). */
function statusOf(entry: Entry, finding: Finding, now: string): Json {
  const { status, decision } = standOf(entry.manifest, finding, now)
  if (decision === undefined)
    return {
      status: 'under_investigation',
      ...(finding.fixed_in === undefined ? {} : { status_notes: `Fixed in ${finding.fixed_in}.` }),
    }
  if (status === 'accepted' && isFalsePositive(decision))
    return { status: 'not_affected', impact_statement: printDecision(decision), timestamp: decision.at }
  if (status === 'accepted' && isSupplied(decision))
    return decision.decision === 'fixed'
      ? { status: 'fixed', status_notes: printDecision(decision), timestamp: decision.at }
      : { status: 'not_affected', impact_statement: printDecision(decision), timestamp: decision.at }
  const fix = finding.fixed_in === undefined ? 'No fix is known.' : UPGRADE(finding.fixed_in)
  return {
    status: 'affected',
    status_notes: printDecision(decision),
    timestamp: decision.at,
    action_statement: status === 'accepted' ? `The risk is accepted. ${fix}` : `Do not install this version. ${fix}`,
    action_statement_timestamp: decision.at,
  }
}

function statementOf(entry: Entry, finding: Finding, { now, at }: { readonly now: string; readonly at: string }): Json {
  const carried = entry.contents.components[carriedBy(entry, finding) ?? -1]
  const { sha256, sha512 } = entry.manifest.files[0].blob
  return {
    vulnerability: {
      '@id': vulnerabilitySource(finding.id).url,
      'name': finding.id,
      ...(finding.summary === undefined ? {} : { description: finding.summary }),
      ...(finding.aliases === undefined || finding.aliases.length === 0 ? {} : { aliases: finding.aliases }),
    },
    timestamp: at,
    products: [
      {
        '@id': entry.purl,
        'identifiers': { purl: entry.purl },
        'hashes': { 'sha-256': sha256, 'sha-512': sha512 },
        ...(carried === undefined
          ? {}
          : { subcomponents: [{ '@id': carried.purl, 'identifiers': { purl: carried.purl } }] }),
      },
    ],
    ...statusOf(entry, finding, now),
  }
}

/**
 * OpenVEX 0.2.0: one statement for each finding of each package. Source:
 * https://github.com/openvex/spec/blob/main/OPENVEX-SPEC.md
 */
export const openvex: Print = {
  ending: 'openvex.json',
  async *print({ heading, entries }) {
    const head = {
      '@context': 'https://openvex.dev/ns/v0.2.0',
      '@id': `https://openvex.dev/docs/gatehouse/${heading.uuid}`,
      'author': 'Gatehouse',
      'role': 'Package repository',
      'timestamp': heading.at,
      'version': 1,
      'tooling': `Gatehouse ${heading.tool}`,
    }
    yield `${JSON.stringify(head).slice(0, -1)},"statements":[`
    let comma = ''
    for await (const entry of entries()) {
      for (const finding of entry.manifest.findings) {
        yield comma + JSON.stringify(statementOf(entry, finding, heading))
        comma = ','
      }
    }
    yield ']}\n'
  },
}
