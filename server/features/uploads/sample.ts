import { needScope } from '../../core/access.ts'
import { WithStatus, type Handlers } from '../../core/contract.ts'
import { fail } from '../../core/errors.ts'
import { SAMPLE } from '../../formats/sample.ts'
import { passGate } from '../../pipeline/gate.ts'
import { record, recogniseActive, waitOf, type UploadDeps } from './handlers.ts'
import { replyOf, statusOf } from './result.ts'
import type { samples } from './sample-contract.ts'
import { chooseTarget } from './target.ts'

export interface SampleDeps extends UploadDeps {
  /** Whether what is here came from a backup. */
  readonly isRestored: () => Promise<boolean>
}

export const sampleHandlers: Handlers<typeof samples, SampleDeps> = {
  'GET /upload/sample': async ({ isRestored }) => ({ offered: !(await isRestored()), name: SAMPLE.name }),
  'POST /upload/sample': async (deps, { body, who, viewer, raw }) => {
    const { formats, repositories } = deps
    const offered = { formats, repositories: repositories.seenBy(viewer) }
    const { codename, format: id } = offered.repositories.get(body.distribution)
    needScope(who, codename)
    if (await deps.isRestored()) fail('sample_after_restore', {})
    const made = formats.find(one => one.id === id)?.sample?.()
    if (made === undefined) return fail('no_sample', { codename })
    const { filename, bytes } = made
    const format = recogniseActive(deps, { head: bytes.subarray(0, 512), filename })
    const distribution = chooseTarget(offered, codename, format)
    const limitBytes = deps.settings.now().validation.max_upload_size_mb * 1024 * 1024
    const file = await deps.spool.receive(only(bytes), { filename, limitBytes, signal: raw.signal })
    const actor = { name: who.name, ip: raw.clientIp }
    const changed = await passGate(deps.gate, { file, format, distribution, from: 'upload', actor }, raw.signal)
    record(deps, changed)
    return new WithStatus(
      statusOf(changed),
      await replyOf(changed, { waitMs: waitOf(raw), settings: deps.settings.now() }),
    )
  },
}

async function* only(bytes: Buffer): AsyncGenerator<Buffer> {
  yield await Promise.resolve(bytes)
}
