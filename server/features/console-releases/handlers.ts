import { createReadStream } from 'node:fs'
import { lstat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Handlers } from '../../core/contract.ts'
import { fail } from '../../core/errors.ts'
import type { Layout } from '../../files/layout.ts'
import type { consoleReleases } from './contract.ts'
import { listReleases, namedFiles } from './releases.ts'

export interface ConsoleReleaseDeps {
  readonly layout: Pick<Layout, 'consoleReleases'>
}

export const consoleReleaseHandlers: Handlers<typeof consoleReleases, ConsoleReleaseDeps> = {
  'GET /console/releases': async ({ layout }) => ({ releases: await listReleases(layout.consoleReleases) }),
  'GET /console/releases/{file_name}': async ({ layout }, { params }) => {
    const { file_name } = params
    const path = join(layout.consoleReleases, file_name)
    const found = (await namedFiles(layout.consoleReleases)).has(file_name)
      ? await lstat(path).catch(() => undefined)
      : undefined
    // a link would lead out of the folder
    if (found?.isFile() !== true) return fail('console_release_not_found', { file_name })
    return { body: createReadStream(path), type: 'application/octet-stream', name: file_name, size: found.size }
  },
}
