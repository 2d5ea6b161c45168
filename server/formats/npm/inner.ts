import type { SpooledFile } from '../../files/spool.ts'
import type { Unpacked } from '../../files/unpacked.ts'
import type { InnerStream } from '../format.ts'
import { refuse } from '../refuse.ts'
import { PART, TAR, unpackTar } from './tarball.ts'

async function* read(file: SpooledFile): AsyncGenerator<Buffer> {
  try {
    yield* unpackTar(file)
  } catch (error) {
    refuse(file.filename, error)
  }
}

/** The tar inside, for the antivirus engines and for who reads what is in it. */
export async function* inner(file: SpooledFile, unpacked?: Pick<Unpacked, 'read'>): AsyncGenerator<InnerStream> {
  yield { name: TAR, open: () => unpacked?.read(PART) ?? read(file) }
}
