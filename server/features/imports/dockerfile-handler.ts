import { needScope, type Principal } from '../../core/access.ts'
import type { RawRequest } from '../../core/contract.ts'
import { fail } from '../../core/errors.ts'
import type { Distribution } from '../../core/repository.ts'
import type { Viewer } from '../../core/viewer.ts'
import { FORMAT_OF_MANAGER, type Manager } from '../../formats/installers.ts'
import { distributionOfImage } from '../../imports/base-image.ts'
import { readDockerfile, type Installed } from '../../imports/dockerfile.ts'
import type { DockerfileReply } from './contract.ts'
import type { ImportRouteDeps } from './deps.ts'

interface Input {
  readonly body: { readonly content: string; readonly distribution?: string }
  readonly viewer: Viewer
  readonly who: Principal
  readonly raw: RawRequest
}
/** Of a text; the longest real ones have some thousand. */
const MOST_LETTERS = 500_000

type Found = DockerfileReply['packages_found'][number]

const managerOf = ({ format }: Distribution): Manager | undefined =>
  (Object.keys(FORMAT_OF_MANAGER) as Manager[]).find(manager => FORMAT_OF_MANAGER[manager] === format)

/** What is here, and what could be imported, of the packages that a Dockerfile installs. */
async function found(
  { lookUp }: ImportRouteDeps,
  installed: readonly Installed[],
  distribution: Distribution | undefined,
): Promise<readonly Found[]> {
  const { codename, format, archs } = distribution ?? {}
  const own = installed.filter(({ manager }) => FORMAT_OF_MANAGER[manager] === format)
  const looked =
    codename === undefined || format === undefined || own.length === 0
      ? []
      : await lookUp(
          { codename, format, arch: archs?.[0] ?? '' },
          own.map(({ name }) => name),
        )
  const byName = new Map(own.map(({ name }, at) => [name, looked[at]]))
  return installed.map(({ name, manager }) => {
    const one = FORMAT_OF_MANAGER[manager] === format ? byName.get(name) : undefined
    const upstream = one?.upstream
    return {
      name,
      status: one?.isPublished === true ? 'available' : upstream === undefined ? 'unknown' : 'importable',
      pkg_manager: manager,
      upstream_info:
        upstream === undefined
          ? null
          : {
              version: upstream.version,
              section: upstream.section,
              size: upstream.size,
              source_id: upstream.sourceId,
            },
    }
  })
}

/** Why `unknown` may not mean that nobody has it; null where every source was asked. */
async function noteOf({ planner }: ImportRouteDeps, codename: string | undefined): Promise<string | null> {
  if (codename === undefined)
    return 'The image does not say which distribution it is made of, so nothing was looked up. Name the distribution.'
  const held = await planner.heldFor(codename)
  if (held === 'all') return null
  return held === 'some'
    ? `Not all sources of ${codename} have been synchronised: what is unknown may be in one of the others.`
    : `No source of ${codename} has been synchronised yet, so nothing could be looked up in them.`
}

/** Reads a Dockerfile; nothing is imported, and nothing of it is executed. */
export async function analyzeDockerfile(deps: ImportRouteDeps, input: Input): Promise<DockerfileReply> {
  const { body, viewer, who, raw } = input
  if (body.content.trim() === '') fail('bad_request', { said: 'The Dockerfile is empty. Send its text as `content`.' })
  if (body.content.length > MOST_LETTERS)
    fail('bad_request', {
      said: `The Dockerfile has ${body.content.length} characters; at most ${MOST_LETTERS} are read. Send the part that installs packages.`,
    })
  if (body.distribution !== undefined) needScope(who, body.distribution)
  const { installed, image } = readDockerfile(body.content)
  const seen = deps.repositories.seenBy(viewer)
  const base = image === undefined ? undefined : distributionOfImage(image, seen.all())
  const distribution = body.distribution === undefined ? base : seen.get(body.distribution)
  const packages = await found(deps, installed, distribution)
  const count = (status: Found['status']): number => packages.filter(one => one.status === status).length
  const importable = count('importable')
  await deps.audit.record({
    action: 'DOCKERFILE_ANALYZE',
    result: 'SUCCESS',
    user: who.name,
    ip: raw.clientIp,
    ...(distribution === undefined ? {} : { distribution: distribution.codename }),
    facts: { kind: 'dockerfile.read', names: packages.length, importable },
  })
  return {
    packages_found: [...packages],
    total: packages.length,
    available: count('available'),
    missing: packages.length - count('available'),
    importable,
    unknown: count('unknown'),
    distribution: distribution?.codename ?? null,
    base_image: {
      pkg_manager: (base === undefined ? installed[0]?.manager : managerOf(base)) ?? null,
      distribution: base?.codename ?? null,
    },
    note: await noteOf(deps, distribution?.codename),
  }
}
