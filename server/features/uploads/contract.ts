import { Type } from '@sinclair/typebox'
import { contract } from '../../core/contract.ts'
import { oneOf, Text } from '../../core/schemas.ts'
import { UploadResultSchema } from './result.ts'

const FAILS = [
  'bad_request',
  'bad_digest',
  'upload_incomplete',
  'upload_too_large',
  'storage_full',
  'uploads_stopped',
  'missing_field',
  'unknown_distribution',
  'unknown_format',
  'wrong_format',
  'wrong_arch',
  'bad_component',
  'distribution_retired',
  'registry_takes_no_uploads',
  'format_not_active',
  'bad_package',
  'digest_mismatch',
  'duplicate_conflict',
  'outside_distribution',
] as const

/** The fields of a form with a package. */
export const PACKAGE_FORM = Type.Object({
  distribution: Text,
  component: Type.Optional(Text),
  sha256: Type.Optional(Type.String({ pattern: '^[0-9a-f]{64}$' })),
  resolve: Type.Optional(oneOf(['true', 'false'])),
})

const FORM =
  'Send multipart/form-data with `file` and `distribution`, optionally `component` and `sha256` (or the header X-Checksum-Sha256). With `resolve=true`, or where the settings say so, its missing dependencies are imported afterwards, as the job that `dependencies_import` names.'

/** Uploads over HTTP. Both routes run the same gate; one answers at the end, the other streams each step. */
export const uploads = contract({
  'POST /upload/': {
    summary: 'Uploads a package, runs the gate and answers once the index has it.',
    details: `${FORM} Answers 201 for published or held, 200 for quarantined, rejected or already known.`,
    access: 'uploader+',
    scoped: 'upload',
    limit: { bucket: 'upload', perMinute: 20, settings: 'upload_limits' },
    upload: 'package',
    form: PACKAGE_FORM,
    status: 201,
    otherwise: [200],
    reply: UploadResultSchema,
    fails: FAILS,
  },
  'POST /upload/stream': {
    summary: 'Uploads a package and streams what each step of the gate finds, then the result.',
    details: `${FORM} Events are \`step\` with \`name\` (format, provenance, antivirus, cve, scripts where the package has any, gpg, dependencies, publish), \`label\`, \`status\` (running, done, warn, error), \`message\` and \`detail\`; then \`result\`, or \`error\` with a refusal; the last line is always \`data: done|DONE\`.`,
    access: 'uploader+',
    scoped: 'upload',
    limit: { bucket: 'upload', perMinute: 20, settings: 'upload_limits' },
    upload: 'package',
    form: PACKAGE_FORM,
    reply: 'events',
    lastLine: 'done|DONE',
    fails: FAILS,
  },
})
