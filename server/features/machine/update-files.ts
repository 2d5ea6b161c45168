import { mkdir, readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { RawRequest } from '../../core/contract.ts'
import { fail } from '../../core/errors.ts'
import { readBody } from '../../files/form.ts'
import { createSpool, type SpoolDeps } from '../../files/spool.ts'
import { MOST_UPDATE_BYTES } from './contract.ts'

/** An update file that was uploaded. */
export interface UpdateFile {
  readonly path: string
  readonly name: string
  readonly size: number
  readonly sha256: string
}

export interface UpdateFiles {
  /**
   * Takes one in, in the place of those that were uploaded before; `kept` is one that still waits.
   * @throws machine_file_name, upload_too_large, upload_incomplete, storage_full
   */
  receive(raw: RawRequest, named: string | undefined, kept: string | undefined): Promise<UpdateFile>
  drop(path: string): Promise<void>
  /** Removes what was on its way when the service ended. */
  sweep(): Promise<unknown>
}

const NAME = /^[A-Za-z0-9][A-Za-z0-9_.+~-]{0,150}$/

/**
 * Update files in `updates/` of the folder of the state, where the machine's own program reads them; `.incoming/` in it
 * has what is still on its way.
 */
export function createUpdateFiles(
  folder: string,
  { random, threads }: Pick<SpoolDeps, 'random' | 'threads'>,
): UpdateFiles {
  const incoming = join(folder, '.incoming')
  const spool = createSpool({ layout: { incoming }, random, threads })
  return {
    receive: async (raw, named, kept) => {
      await mkdir(incoming, { recursive: true, mode: 0o750 })
      const { file } = await readBody(raw, {
        spool,
        limitBytes: MOST_UPDATE_BYTES,
        setting: 'none',
        filename: named,
        known: [],
        isUrgent: true,
      })
      try {
        const name = file.filename
        if (!NAME.test(name)) return fail('machine_file_name', { file_name: name.slice(0, 80) })
        for (const old of await readdir(folder))
          if (old !== '.incoming' && join(folder, old) !== kept) await rm(join(folder, old), { recursive: true })
        const path = join(folder, name)
        if (path === kept) return fail('machine_file_name', { file_name: name })
        await rename(file.path, path)
        return { path, name, size: file.blob.size, sha256: file.blob.sha256 }
      } finally {
        await file.discard()
      }
    },
    drop: path => rm(path, { force: true }),
    sweep: () => spool.sweep(),
  }
}
