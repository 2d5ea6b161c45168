import { expect, test } from 'vitest'
import { readHistory, readStep } from './history.ts'

test.each([
  ['RUN /bin/sh -c apt-get install -y libssl3 # buildkit', 'run', 'apt-get install -y libssl3'],
  ['/bin/sh -c adduser --system telemetry', 'run', 'adduser --system telemetry'],
  ['|1 VERSION=3 /bin/sh -c make  install', 'run', 'make install'],
  ['/bin/sh -c #(nop) ADD file:81c5fe in / ', 'add', 'file:81c5fe in /'],
  ['COPY config.yaml /etc/ # buildkit', 'copy', 'config.yaml /etc/'],
  ['/bin/sh -c #(nop)  CMD ["bash"]', 'other', 'CMD ["bash"]'],
  ['bazel build ...', 'other', 'bazel build ...'],
  ['', 'other', ''],
])('%s', (text, step, made_by) => {
  expect(readStep(text)).toEqual({ step, made_by })
})

const read = (value: unknown, layers: number) => readHistory(Buffer.from(JSON.stringify(value)), layers)
const entry = (created_by: string, empty_layer?: boolean) => ({ created_by, ...(empty_layer ? { empty_layer } : {}) })

test('entries that made no layer are passed over', () => {
  const history = [entry('ADD a /'), entry('ENV A=1', true), entry('COPY b /'), entry('USER app', true)]
  expect(read({ config: { User: 'app' }, history }, 2)).toEqual({
    user: 'app',
    steps: [
      { step: 'add', made_by: 'a /' },
      { step: 'copy', made_by: 'b /' },
    ],
  })
})

test.each([
  ['more steps than layers', [entry('a'), entry('b')]],
  ['fewer', []],
  ['no list', 'x'],
])('nothing is guessed where there are %s', (_, history) => {
  expect(read({ history }, 1)).toEqual({ user: '', steps: undefined })
})

test('fields of other kinds count as absent, and what is no JSON is refused', () => {
  expect(read({ config: { User: 7 }, history: [{ created_by: 3, comment: 'buildkit.exporter' }, null] }, 2)).toEqual({
    user: '',
    steps: [
      { step: 'other', made_by: 'buildkit.exporter' },
      { step: 'other', made_by: '' },
    ],
  })
  expect(() => readHistory(Buffer.from('{'), 1)).toThrow('no JSON')
})
