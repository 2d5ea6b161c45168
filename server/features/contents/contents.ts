import { pageOf, type Page, type Paging } from '../../catalog/page.ts'
import { isMatchedBy } from '../../contents/asked.ts'
import type { Component, Contents } from '../../contents/component.ts'
import type { Unopened } from '../../contents/reader.ts'
import type { Finding } from '../../core/findings.ts'

/** A component as the list shows it. */
export interface ComponentRow extends Pick<
  Component,
  'purl' | 'group' | 'name' | 'version' | 'path' | 'presence' | 'rule' | 'confidence' | 'unasked'
> {
  /** The names of the findings that the last scan of the package had about it, worst first. */
  readonly findings: readonly string[]
}

/** A page of components; the numbers beside it are of the whole package. */
export interface ComponentPage extends Page<ComponentRow> {
  readonly shipped: number
  readonly declared: number
  readonly cut?: string
}

/** A page of what was not opened. */
export interface UnopenedPage extends Page<Unopened> {
  /** How many the whole package has, those that are not named among them. */
  readonly all: number
  readonly more: number
  readonly cut?: string
}

/** What a list of components is narrowed to. */
export interface ComponentFilter {
  readonly q?: string | undefined
  readonly presence?: Component['presence'] | undefined
  readonly findings?: boolean | undefined
}

const cutOf = ({ cut }: Contents) => (cut === undefined ? {} : { cut })
const cutOut = <T>(all: readonly T[], paging: Paging): Page<T> =>
  pageOf(all.slice((paging.page - 1) * paging.perPage, paging.page * paging.perPage), all.length, paging)

/** Whether a text has the searched one in it, in any case; without one, each has. */
function searching(q: string | undefined): (...texts: readonly string[]) => boolean {
  const wanted = q?.toLowerCase() ?? ''
  return (...texts) => texts.some(text => text.toLowerCase().includes(wanted))
}

/** Whether a finding is about this component: the same package URL at any path, but for a copy that cannot have it. */
function concerns(finding: Finding, component: Component): boolean {
  const { id, aliases = [], at, matched } = finding
  if ([id, ...aliases].some(name => component.cleared?.ids.includes(name))) return false
  if (at !== undefined) return component.purl === at.purl && component.presence === at.presence
  return component.purl === finding.package || (matched !== undefined && isMatchedBy(component, matched))
}

function rowOf(component: Component, findings: readonly Finding[]): ComponentRow {
  const { purl, group, name, version, path, presence, rule, confidence, unasked } = component
  return {
    purl,
    ...(group === undefined ? {} : { group }),
    name,
    ...(version === undefined ? {} : { version }),
    path,
    presence,
    rule,
    confidence,
    ...(unasked === undefined ? {} : { unasked }),
    findings: findings.filter(finding => concerns(finding, component)).map(({ id }) => id),
  }
}

/** A page of the components of a package: those with findings first, then by package URL. */
export function listComponents(
  contents: Contents,
  findings: readonly Finding[],
  { filter, paging }: { readonly filter: ComponentFilter; readonly paging: Paging },
): ComponentPage {
  const { components } = contents
  const isFound = searching(filter.q)
  const rows = components
    .filter(({ purl, path, presence }) => isFound(purl, path) && (filter.presence ?? presence) === presence)
    .map(component => rowOf(component, findings))
    .filter(row => filter.findings === undefined || filter.findings === row.findings.length > 0)
  const [concerned, others] = [
    rows.filter(row => row.findings.length > 0),
    rows.filter(row => row.findings.length === 0),
  ]
  const shipped = components.filter(({ presence }) => presence === 'shipped').length
  return {
    ...cutOut([...concerned, ...others], paging),
    shipped,
    declared: components.length - shipped,
    ...cutOf(contents),
  }
}

/** A page of what was not opened in a package. */
export function listUnopened(
  contents: Contents,
  { q, paging }: { readonly q?: string | undefined; readonly paging: Paging },
): UnopenedPage {
  const isFound = searching(q)
  const page = cutOut(
    contents.unopened.filter(({ path, why }) => isFound(path, why)),
    paging,
  )
  const more = contents.more ?? 0
  return { ...page, all: contents.unopened.length + more, more, ...cutOf(contents) }
}
