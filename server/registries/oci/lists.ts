import type { Repositories } from '../../core/repository.ts'
import type { Db } from '../../db/db.ts'
import { INDEX } from '../../formats/oci/document.ts'
import type { OciFacts } from '../../formats/oci/facts.ts'
import { oci } from '../../formats/oci/index.ts'
import type { RegistryAnswer, RegistryRequest, RootRequest } from '../protocol.ts'
import { placeOf, refuseAs, refuseName, VERSION } from './answers.ts'
import { hasVersions, type Repository } from '../../catalog/queries/oci.ts'
import { listReferrers, listRepositories, listTags } from '../../catalog/queries/oci-lists.ts'
import type { WaitingTags } from './waiting-tags.ts'

/** The most that one answer names. */
const MOST = 10_000
const MOST_REFERRERS = 1_000

/** Source: distribution specification 1.1, "Listing Tags". */
export function partOf(query: URLSearchParams): { readonly last: string; readonly n: number } {
  const n = query.get('n') ?? String(MOST)
  if (!/^\d{1,9}$/.test(n)) refuseAs(400, 'UNSUPPORTED', 'n is not allowed: it must be a whole number.')
  return { last: query.get('last') ?? '', n: Math.min(MOST, Number(n)) }
}

const json = (
  value: unknown,
  link: string | undefined,
  headers: Readonly<Record<string, string>> = {},
): RegistryAnswer => ({
  status: 200,
  headers: {
    ...VERSION,
    'Cache-Control': 'no-cache',
    ...(link === undefined ? {} : { Link: `<${link}>; rel="next"` }),
    ...headers,
  },
  body: { kind: 'json', json: value },
  conditional: true,
})

/** The first `n` of one more, and where the rest is. */
function pageOf<T>(
  found: readonly T[],
  n: number,
  linkOf: (last: T) => string,
): { readonly page: readonly T[]; readonly link: string | undefined } {
  const page = found.slice(0, n)
  const last = page.at(-1)
  return { page, link: found.length > n && last !== undefined ? linkOf(last) : undefined }
}

const printQuery = (query: Readonly<Record<string, string>>): string => new URLSearchParams(query).toString()

/** A part of the tags of a repository. @param found  in the order of their names, with one more than the `n` wanted */
export function tagsAnswer(
  request: RegistryRequest,
  name: string,
  { found, n }: { readonly found: readonly string[]; readonly n: number },
): RegistryAnswer {
  const { page, link } = pageOf(
    found,
    n,
    tag => `${placeOf(request, name, 'tags/list')}?${printQuery({ n: String(n), last: tag })}`,
  )
  return json({ name: `${request.asked.codename}/${name}`, tags: page }, link)
}

/** What there is: tags, referrers, repositories. Names what is published, and nothing else. */
export function createListRoutes(
  { db, repositories }: { readonly db: Db; readonly repositories: Pick<Repositories, 'seenBy'> },
  waiting: Pick<WaitingTags, 'settle'>,
) {
  return {
    async tags(request: RegistryRequest, name: string): Promise<RegistryAnswer> {
      const { codename } = request.registry
      const repository: Repository = { codename, name }
      const { last, n } = partOf(request.query)
      await waiting.settle(repository)
      const found = await listTags(db, repository, { last, n: n + 1 })
      if (found.length === 0 && !(await hasVersions(db, repository))) refuseName(repository)
      return tagsAnswer(request, name, { found, n })
    },

    /** Source: distribution specification 1.1, "Listing Referrers". */
    async referrers(
      request: RegistryRequest,
      { name, digest }: { readonly name: string; readonly digest: string },
    ): Promise<RegistryAnswer> {
      const repository: Repository = { codename: request.registry.codename, name }
      const wanted = request.query.get('artifactType')
      const rows = await listReferrers(db, repository, {
        subject: digest,
        last: request.query.get('last') ?? '',
        n: MOST_REFERRERS + 1,
      })
      const { page, link } = pageOf(rows, MOST_REFERRERS, ({ version }) => {
        const filter: Readonly<Record<string, string>> = wanted === null ? {} : { artifactType: wanted }
        return `${placeOf(request, name, 'referrers', digest)}?${printQuery({ ...filter, last: version })}`
      })
      const manifests = page
        .map(({ version, size, facts }) => ({ version, size, facts: facts as OciFacts }))
        .filter(({ facts }) => wanted === null || facts.artifact_type === wanted)
        .map(({ version, size, facts }) => ({
          mediaType: facts.media_type,
          digest: version,
          size,
          ...(facts.artifact_type === undefined ? {} : { artifactType: facts.artifact_type }),
          ...(Object.keys(facts.annotations).length === 0 ? {} : { annotations: facts.annotations }),
        }))
      const filtered: Readonly<Record<string, string>> =
        wanted === null ? {} : { 'OCI-Filters-Applied': 'artifactType' }
      return { ...json({ schemaVersion: 2, mediaType: INDEX, manifests }, link, filtered), type: INDEX }
    },

    /** Every repository of the registries that the caller sees. Source: Docker, "HTTP API V2", "Catalog". */
    async catalog(request: RootRequest): Promise<RegistryAnswer> {
      const { caller, query, address } = request
      const { last, n } = partOf(query)
      const limits = caller.who?.scope?.distributions
      const codenames = repositories
        .seenBy(caller.viewer)
        .all()
        .filter(
          ({ kind, format, codename }) =>
            kind === 'registry' && format === oci.id && (limits?.includes(codename) ?? true),
        )
        .map(({ codename }) => codename)
      const found = await listRepositories(db, codenames, { last, n: n + 1 })
      const { page, link } = pageOf(
        found,
        n,
        path => `${placeOf({ address }, '_catalog')}?${printQuery({ n: String(n), last: path })}`,
      )
      return json({ repositories: page }, link)
    },
  }
}
