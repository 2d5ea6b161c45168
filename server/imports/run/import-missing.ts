import type { PackageRef } from '../../core/identity.ts'
import type { Manifest } from '../../core/manifest.ts'
import { printAlternatives } from '../../core/relation.ts'
import type { Repositories } from '../../core/repository.ts'
import { ALL_SEEING } from '../../core/viewer.ts'
import type { Jobs } from '../../core/work.ts'
import type { Candidate } from '../resolve/closure.ts'
import { IMPORT_PACKAGES, type ImportRequest } from './import-work.ts'
import type { CatalogueOf } from './plan.ts'

/** An import that an upload asked for. */
export interface AskedImport {
  /** Null where nothing can be imported. */
  readonly job_id: string | null
  /** What is imported, each with what it needs itself. */
  readonly packages: readonly string[]
  /** Needs that no source of the distribution lists, or that cannot be looked up since none was synchronised. */
  readonly unlisted: readonly string[]
}

/** Asks for the missing needs of a package to be imported, as a job. @returns undefined where it lacks nothing */
export type ImportMissing = (
  manifest: Manifest,
  by: { readonly name: string; readonly ip?: string; readonly requestId?: string },
) => Promise<AskedImport | undefined>

export interface ImportMissingDeps {
  readonly jobs: Jobs
  readonly repositories: Pick<Repositories, 'seenBy'>
  readonly catalogue: Pick<CatalogueOf, 'rowsOf'>
}

/** The group of what an upload brought with it: `hello-2.10-3`. */
const groupOf = ({ name, version }: PackageRef): string =>
  `${name}-${version}`.replaceAll(/[^A-Za-z0-9_.+-]/g, '-').slice(0, 100)

/** Makes the way from an upload to an import. */
export function createImportMissing({ jobs, repositories, catalogue }: ImportMissingDeps): ImportMissing {
  return async ({ ref, about, reports }, { name: by, ip, requestId }) => {
    const missing = new Set(reports.flatMap(report => report.missing ?? []))
    const needs = about.depends.filter(need => missing.has(printAlternatives(need)))
    if (needs.length === 0) return undefined
    const distribution = repositories.seenBy(ALL_SEEING).get(ref.codename)
    const { codename, format, archs } = distribution
    const arch = archs.includes(ref.arch) ? ref.arch : (archs[0] ?? ref.arch)
    const rowsOf = await catalogue.rowsOf({ codename, format, arch })
    const rows = await rowsOf([...new Set(needs.flat().map(relation => relation.name))])
    const isListed = (wanted: string): boolean => rows.some(row => offers(row, wanted))
    const chosen = needs.map(need => need.find(({ name }) => isListed(name))?.name)
    const packages = [...new Set(chosen.filter(name => name !== undefined))]
    const unlisted = needs.filter((_, at) => chosen[at] === undefined).map(printAlternatives)
    if (packages.length === 0) return { job_id: null, packages, unlisted }
    const request: ImportRequest = {
      packages: packages.map(name => ({ name })),
      codename,
      arch,
      group: groupOf(ref),
      recommends: false,
      ...(ip === undefined ? {} : { ip }),
    }
    const { id } = await jobs.ask({
      kind: IMPORT_PACKAGES,
      request: { ...request },
      target: request.group,
      codenames: [codename],
      by,
      ...(requestId === undefined ? {} : { requestId }),
    })
    return { job_id: id, packages, unlisted }
  }
}

const offers = ({ name, relations }: Candidate, wanted: string): boolean =>
  name === wanted ||
  relations.provides?.some(provided => provided.name === wanted) === true ||
  relations.files?.includes(wanted) === true
