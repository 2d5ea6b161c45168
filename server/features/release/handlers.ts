import type { Handlers } from '../../core/contract.ts'
import { asSeenBy, type Repositories } from '../../core/repository.ts'
import type { release } from './contract.ts'
import { changeRelease, readRelease, type ReleaseDeps } from './release.ts'

export interface ReleaseRouteDeps extends Omit<ReleaseDeps, 'repositories'> {
  readonly repositories: Pick<Repositories, 'seenBy'>
}

export const releaseHandlers: Handlers<typeof release, ReleaseRouteDeps> = {
  'GET /distributions/{codename}/release': (deps, { params, viewer }) =>
    readRelease(asSeenBy(deps, viewer), params.codename),
  'PATCH /distributions/{codename}/release': (deps, { params, body, who, viewer, raw }) =>
    changeRelease(asSeenBy(deps, viewer), params.codename, { ...body, by: who.name, ip: raw.clientIp }),
}
