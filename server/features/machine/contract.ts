import { Type } from '@sinclair/typebox'
import { contract } from '../../core/contract.ts'
import type { ErrorCode } from '../../core/errors.ts'
import { OrNull, Text, Time } from '../../core/schemas.ts'
import { MachineView, VERBS } from '../../machine/protocol.ts'

/** 1024² bytes: the largest update file. */
export const MOST_UPDATE_BYTES = 2 * 1024 ** 3

const Bytes = Type.Number({ description: 'Bytes.' })
/** What the service knows of the machine by itself. */
const Here = Type.Object({
  host_name: Text,
  cores: Type.Integer(),
  memory: Bytes,
  memory_used: Bytes,
  up_since: Time,
  disk: OrNull(Type.Object({ path: Text, size: Bytes, used: Bytes })),
})
export const MachineReply = Type.Object({
  appliance: Type.Boolean({ description: 'Whether there is a program here that may look after the machine.' }),
  why: OrNull(Text),
  machine: OrNull(MachineView),
  at_work: Type.Array(Type.Object({ verb: Text, step: OrNull(Text), since: Time, by: Text }), {
    description: 'Changes of the machine that are under way.',
  }),
  here: Here,
})

const fails: ErrorCode[] = ['machine_absent', 'machine_silent', 'machine_refused', 'machine_not_understood']
const change = { access: 'admin', limit: { bucket: 'machine', perMinute: 30 }, fails } as const

/** The machine of the appliance: everything for admins alone. Each change is in the audit log with what was before. */
export const machine = contract({
  'GET /machine': {
    summary: 'Shows the machine that the service runs on: network, certificate, time, services, disks, updates.',
    details:
      'Where this is no appliance, `appliance` is false and `here` has what the service knows by itself. `why` says why the machine gave no answer.',
    access: 'admin',
    reply: MachineReply,
  },
  'POST /machine/network': {
    ...change,
    summary: 'Changes the network, for 90 seconds: then it is as before unless POST /machine/network/keep came.',
    body: VERBS['network.set'].with,
    reply: VERBS['network.set'].answer,
  },
  'POST /machine/network/keep': {
    ...change,
    summary: 'Keeps the network as it was just changed.',
    reply: VERBS['network.keep'].answer,
  },
  'POST /machine/time': {
    ...change,
    summary: 'Changes zone and time servers, or sets the clock while no time server answers.',
    body: VERBS['time.set'].with,
    reply: VERBS['time.set'].answer,
  },
  'POST /machine/certificate': {
    ...change,
    summary: 'Puts in a certificate of the company, with its key. The key is neither kept here nor logged.',
    body: VERBS['certificate.put'].with,
    reply: VERBS['certificate.put'].answer,
  },
  'POST /machine/certificate/own': {
    ...change,
    summary: "Uses the machine's own certificate, of the authority that it made at its first start.",
    reply: VERBS['certificate.own'].answer,
  },
  'POST /machine/certificate/acme': {
    ...change,
    summary: 'Fetches a certificate from an authority that speaks ACME (RFC 8555), and renews it from now on.',
    body: VERBS['certificate.acme'].with,
    reply: VERBS['certificate.acme'].answer,
  },
  'POST /machine/services/{unit}/restart': {
    ...change,
    summary: 'Restarts a service of the machine. Of the service itself the answer may not come.',
    params: Type.Object({
      unit: Type.String({ maxLength: 100, pattern: '^[A-Za-z0-9@_.-]+$', rule: 'the name of a unit' }),
    }),
    reply: VERBS['service.restart'].answer,
  },
  'POST /machine/updates': {
    ...change,
    summary: 'Takes an update file in and looks at it. Nothing is installed.',
    details:
      'Send the file as the body itself, or as `file` of multipart/form-data. It is kept until the next one comes.',
    upload: 'data',
    query: Type.Object({ filename: Type.Optional(Type.String({ maxLength: 255 })) }),
    reply: VERBS['update.look'].answer,
    fails: [
      ...fails,
      'machine_file_name',
      'upload_too_large',
      'upload_incomplete',
      'missing_field',
      'storage_full',
      'bad_request',
    ],
  },
  'POST /machine/updates/look': {
    ...change,
    summary: 'Looks at an update file on a medium: who signed it, what is new, whether it can be installed.',
    body: VERBS['update.look'].with,
    reply: VERBS['update.look'].answer,
  },
  'POST /machine/updates/install': {
    ...change,
    summary: 'Installs an update, now or in the maintenance window. It goes back by itself when it is not healthy.',
    body: VERBS['update.install'].with,
    reply: VERBS['update.install'].answer,
  },
  'POST /machine/updates/cancel': {
    ...change,
    summary: 'Does not install the update that waits for the maintenance window.',
    reply: VERBS['update.cancel'].answer,
  },
  'POST /machine/updates/back': {
    ...change,
    summary: 'Goes back to the release that was installed before.',
    reply: VERBS['update.back'].answer,
  },
  'POST /machine/window': {
    ...change,
    summary: 'Sets when the machine may install updates and restart by itself; null: never.',
    body: VERBS['window.set'].with,
    reply: VERBS['window.set'].answer,
  },
  'POST /machine/remote-log': {
    ...change,
    summary: "Sends the machine's log to another machine (syslog), or with null to none.",
    body: VERBS['remote_log.set'].with,
    reply: VERBS['remote_log.set'].answer,
  },
  'POST /machine/restart': {
    ...change,
    summary: 'Restarts the machine.',
    reply: VERBS['power.restart'].answer,
  },
  'POST /machine/power-off': {
    ...change,
    summary: 'Powers the machine off. Somebody has to switch it on again where it stands.',
    reply: VERBS['power.off'].answer,
  },
})
