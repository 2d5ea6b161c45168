import { Type } from '@sinclair/typebox'
import { contract } from '../../core/contract.ts'
import { UploadResultSchema } from './result.ts'

/** A package that the server makes itself, to try the way to a client with. */
export const samples = contract({
  'GET /upload/sample': {
    summary: 'Shows whether a package to try the way with is made here: not after a restore.',
    access: 'admin',
    reply: Type.Object({ offered: Type.Boolean(), name: Type.String() }),
  },
  'POST /upload/sample': {
    summary: 'Makes a tiny package, gatehouse-hello, and sends it through the gate into a distribution.',
    details:
      'The same bytes each time, so a second call answers `already_imported`. DELETE /artifacts/gatehouse-hello takes it away. Refused after a restore: what is served there is what the backup served.',
    access: 'admin',
    scoped: 'upload',
    limit: { bucket: 'upload', perMinute: 20, settings: 'upload_limits' },
    body: Type.Object({ distribution: Type.String({ minLength: 1, maxLength: 80 }) }),
    status: 201,
    otherwise: [200],
    reply: UploadResultSchema,
    fails: [
      'storage_full',
      'uploads_stopped',
      'unknown_distribution',
      'distribution_retired',
      'registry_takes_no_uploads',
      'format_not_active',
      'bad_package',
      'duplicate_conflict',
      'outside_distribution',
      'no_sample',
      'sample_after_restore',
    ],
  },
})
