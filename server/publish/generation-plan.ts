import type { Distribution } from '../core/repository.ts'
import type { ReleaseFields } from '../core/release-fields.ts'
import type { Layout } from '../files/layout.ts'
import type { ListedFile, TreeWriter } from '../formats/tree.ts'
import type { Signer } from '../signing/signer.ts'
import type { Pieces } from './indexes.ts'
import type { Joiner } from './joiner.ts'
import type { ForeignIndexes } from './reprepro.ts'
import type { ShardCache } from './shard-cache.ts'
import type { GenerationState } from './state.ts'

export interface GenerationDeps {
  readonly layout: Pick<Layout, 'trees' | 'generation' | 'live' | 'byHash'>
  readonly cache: ShardCache
  readonly joiner: Joiner
  readonly writer: TreeWriter
  /** Of the leader that builds: two never build in one folder. */
  readonly epoch: number
  /** Writes the indexes below `root` in place of our own writer. */
  readonly foreign?: ((root: string) => ReturnType<ForeignIndexes>) | undefined
}

/** The parts of a generation: the pieces of its indexes, and its file lists. */
export interface Plan {
  readonly distribution: Distribution
  readonly n: number
  readonly at: Date
  readonly pieces: Pieces
  readonly contents: readonly ListedFile[]
  readonly signer: Signer
  readonly words: ReleaseFields
  /** Files of an earlier generation to reuse, in place of pieces and contents. */
  readonly carried?:
    { readonly from: number; readonly files: readonly ListedFile[]; readonly made: GenerationState['made'] } | undefined
  readonly signedBy: string
  /** The live generation, whose unchanged files are linked again. */
  readonly live: Pick<GenerationState, 'n' | 'pieces' | 'files' | 'made' | 'signed_by'> | undefined
}
