import { printAlternatives } from '../../core/relation.ts'
import { isRich, type Need, type Operand, type Relations } from '../../formats/relations.ts'
import { isoOrNull } from '../../lib/clock.ts'
import type { SearchHit } from '../../imports/catalogue/search.ts'
import type { SourceState } from '../../imports/catalogue/source-states.ts'
import type { Source } from '../../imports/source.ts'
import { notesOf } from '../../imports/trust/judge.ts'

function printOperand(operand: Operand): string {
  if (!('rich' in operand)) return printAlternatives([operand])
  const [first, second, ...rest] = operand.of.map(printOperand)
  const { rich } = operand
  if (rich === 'if' || rich === 'unless')
    return `(${first} ${rich} ${second}${rest.map(other => ` else ${other}`).join('')})`
  return `(${operand.of.map(printOperand).join(` ${rich} `)})`
}

const printNeed = (need: Need): string => (isRich(need) ? printOperand(need) : printAlternatives(need))

/** What a package needs, as its index writes it. */
export const printNeeds = ({ pre_depends = [], depends = [] }: Relations): string =>
  [...pre_depends, ...depends].map(printNeed).join(', ')

const printProvides = ({ provides = [] }: Relations): string =>
  provides.map(({ name, version }) => (version === undefined ? name : `${name} (= ${version})`)).join(', ')

/** The release that a source is of: a suite, or the distribution here that it is for. */
export const distroOf = ({ suite, codenames, key }: Source): string =>
  suite === undefined || suite.endsWith('/') ? (codenames[0] ?? key) : suite

/** Whether a source is of a release whose name begins so. */
export const isOfDistro = (source: Source, beginning: string): boolean =>
  [distroOf(source), ...source.codenames].some(name => name.toLowerCase().startsWith(beginning.toLowerCase()))

interface Known {
  readonly source: Source
  readonly state: SourceState | undefined
}

/** The address of a package at the first server of its source. */
function addressOf({ kind, urls }: Source, path: string): string | null {
  const [base] = urls
  return kind === 'tree' || base === undefined || !URL.canParse(path, base) ? null : new URL(path, base).href
}

/** A hit as the API shows it. @param find  by the source's number */
export function hitView({ format, name, newest, versions, version_count }: SearchHit, find: (id: number) => Known) {
  const { source, state } = find(newest.source_id)
  const { relations, notes, summary, section } = newest
  const needs = printNeeds(relations)
  return {
    name,
    version: newest.version,
    arch: newest.arch,
    format,
    section: section ?? '',
    group_name: section ?? '',
    summary,
    description: summary,
    depends: needs,
    requires: needs,
    provides: printProvides(relations),
    size: newest.size,
    installed_size: notes.installed_size ?? 0,
    sha256: newest.sha256 ?? '',
    filename: newest.path,
    rpm_url: addressOf(source, newest.path),
    url: notes.homepage ?? '',
    license: notes.license ?? '',
    maintainer: notes.maintainer ?? '',
    distro: distroOf(source),
    source_id: source.key,
    synced_at: isoOrNull(state?.synced_at ?? null),
    security: source.security,
    versions: versions.map(one => {
      const { source: of } = find(one.source_id)
      const { version, arch, component, size, module, hidden } = one
      return {
        version,
        arch,
        source_id: of.key,
        distro: distroOf(of),
        component,
        security: of.security,
        size,
        module,
        hidden,
      }
    }),
    version_count,
    sources: [...new Set(versions.map(one => find(one.source_id).source.key))],
  }
}

/** A source as the status shows it. */
export function sourceView(
  source: Source,
  state: SourceState | undefined,
  { word, isActive, now }: { readonly word: string; readonly isActive: boolean; readonly now: Date },
) {
  const { state: how = 'never', synced_at: at = null } = state ?? {}
  const held = { at: state?.at ?? undefined, validUntil: state?.valid_until ?? undefined }
  return {
    id: source.id,
    source_id: source.key,
    label: source.label,
    format: word,
    distro: distroOf(source),
    arch: source.archs.join(' '),
    component: source.components.join(' '),
    security: source.security,
    enabled: isActive,
    retired: source.retired,
    codenames: [...source.codenames] as string[],
    last_sync: isoOrNull(at),
    pkg_count: state?.packages ?? 0,
    status: how === 'ok' || how === 'never' ? how : 'error',
    error: state?.said ?? null,
    state: how,
    last_attempt: isoOrNull(state?.tried_at ?? null),
    failures: state?.failures ?? 0,
    upstream_date: isoOrNull(state?.at ?? null),
    valid_until: isoOrNull(state?.valid_until ?? null),
    signed_by: [...(state?.signed_by ?? [])],
    mirror: state?.mirror ?? null,
    added: state?.added ?? 0,
    removed: state?.removed ?? 0,
    bytes: state?.bytes ?? 0,
    notes: how === 'ok' ? [...notesOf(held, source, now)] : [],
  }
}
