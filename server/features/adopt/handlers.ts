import { basename } from 'node:path'
import { needScope } from '../../core/access.ts'
import type { Handlers } from '../../core/contract.ts'
import { fail } from '../../core/errors.ts'
import type { FormatId } from '../../core/identity.ts'
import type { Repositories } from '../../core/repository.ts'
import type { Jobs } from '../../core/work.ts'
import type { Db } from '../../db/db.ts'
import type { Outbox } from '../../db/outbox.ts'
import type { Format } from '../../formats/format.ts'
import type { AdoptRoots } from '../../imports/adopt/roots.ts'
import { ADOPT, type AdoptRequest } from '../../imports/adopt/work.ts'
import type { Audit } from '../../record/audit.ts'
import type { adoption } from './contract.ts'

export interface AdoptRouteDeps {
  readonly db: Db
  readonly outbox: Pick<Outbox, 'nudge'>
  readonly audit: Pick<Audit, 'owe'>
  readonly jobs: Jobs
  readonly roots: AdoptRoots
  readonly repositories: Pick<Repositories, 'seenBy'>
  readonly activeFormats: ReadonlySet<FormatId>
  readonly formats: (id: FormatId) => Format
  /** What switches a format on. */
  readonly switchesFor: (id: FormatId) => string
}

/** The name of the folder as the name of a group. */
function groupOf(path: string): string {
  const plain = basename(path)
    .replace(/[^A-Za-z0-9+._-]/g, '-')
    .replace(/^[^A-Za-z0-9]+/, '')
    .slice(0, 80)
  return plain === '' ? 'adopted' : plain
}

export const adoptHandlers: Handlers<typeof adoption, AdoptRouteDeps> = {
  'GET /import/adopt/roots': async ({ roots }) => ({ roots: await roots.list() }),
  'POST /import/adopt': async (deps, { body, who, viewer, raw }) => {
    const { db, outbox, audit, jobs, roots } = deps
    needScope(who, body.distribution)
    const { codename, format, state, components } = deps.repositories.seenBy(viewer).get(body.distribution)
    if (state === 'retired') fail('distribution_retired', { codename })
    if (!deps.activeFormats.has(format))
      fail('format_not_active', { format: deps.formats(format).label, how: deps.switchesFor(format) })
    if (body.component !== undefined && !components.includes(body.component))
      fail('bad_component', { codename, component: body.component, known: components.join(', ') })
    const path = await roots.resolve(body.path)
    const group = body.group ?? groupOf(path)
    const request: AdoptRequest = {
      path,
      codename,
      group,
      ip: raw.clientIp,
      ...(body.component === undefined ? {} : { component: body.component }),
      ...(body.suite === undefined ? {} : { suite: body.suite }),
    }
    const { id, isNew } = await jobs.ask({
      kind: ADOPT,
      target: codename,
      request: { ...request },
      codenames: [codename],
      by: who.name,
      requestId: raw.requestId,
    })
    if (isNew) {
      await db.tx(tx =>
        audit.owe(tx, {
          action: 'IMPORT',
          result: 'SUCCESS',
          user: who.name,
          distribution: codename,
          facts: { kind: 'tree.adoption_asked', path, group, job: id },
          ip: raw.clientIp,
        }),
      )
      outbox.nudge()
    }
    return {
      job_id: id,
      status: isNew ? 'queued' : 'running',
      message: isNew
        ? `${path} is being adopted into ${codename}. The job ${id} tells how far it is.`
        : `${path} is being adopted into ${codename} already, by the job ${id}.`,
    }
  },
}
