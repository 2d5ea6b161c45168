import type { Handlers } from '../../core/contract.ts'
import type { release } from './contract.ts'
import { changeRelease, readRelease, type ReleaseDeps } from './release.ts'

export const releaseHandlers: Handlers<typeof release, ReleaseDeps> = {
  'GET /distributions/{codename}/release': (deps, { params }) => readRelease(deps, params.codename),
  'PATCH /distributions/{codename}/release': (deps, { params, body, who, raw }) =>
    changeRelease(deps, params.codename, { ...body, by: who.name, ip: raw.clientIp }),
}
