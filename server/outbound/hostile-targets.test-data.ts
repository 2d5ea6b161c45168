/** What people try against a webhook URL: each must be refused when nothing inside is allowed. */
const V4_INSIDE = [
  '0.0.0.0', '0.1.2.3', '10.0.0.1', '10.255.255.255', '100.64.0.1', '100.100.100.200', '100.127.255.255', '127.0.0.1', '127.1.2.3', '127.255.255.254',
  '168.63.129.16', '169.254.0.1', '169.254.169.254', '169.254.170.2', '172.16.0.1', '172.31.255.255', '192.0.0.1', '192.0.0.192', '192.0.2.1', '192.88.99.1',
  '192.168.0.1', '192.168.255.255', '198.18.0.1', '198.19.255.255', '198.51.100.7', '203.0.113.9', '224.0.0.1', '239.255.255.250', '240.0.0.1', '255.255.255.255',
]
const V6_INSIDE = [
  '::', '::1', '::2', '::127.0.0.1', '::10.0.0.1', '::ffff:127.0.0.1', '::ffff:10.0.0.1', '::ffff:169.254.169.254', '::ffff:8.8.8.8', '::ffff:7f00:1', '0:0:0:0:0:ffff:7f00:1',
  '::ffff:0:127.0.0.1', '64:ff9b::7f00:1', '64:ff9b::10.0.0.1', '64:ff9b::a9fe:a9fe', '64:ff9b:1::1', '100::1', '2001::1', '2001:0:53aa:64c:0:7f8d:f5ff:fffe', '2001:2::1', '2001:10::1',
  '2001:db8::1', '2002:7f00:1::', '2002:a00:1::1', '2002:a9fe:a9fe::', '3fff::1', '5f00::1', 'fc00::1', 'fd00::1', 'fd00:ec2::254', 'fdff:ffff::1', 'fe80::1', 'fe80::a9fe:a9fe',
  'febf::1', 'fec0::1', 'ff02::1', 'ff05::1:3', 'ff0e::1', '4000::1', '8000::1', 'e000::1', '2a00:1450::5efe:127.0.0.1', '2a00:1450::5efe:a00:1', '2a00:1450::200:5efe:a00:1',
]
/** Loopback, metadata and public addresses as no honest person writes them. */
const ODD = [
  'http://127.1/', 'http://127.0.1/', 'http://0/', 'http://0x0/', 'http://00/', 'http://0.0/', 'http://2130706433/', 'http://0x7f000001/', 'http://0x7F.1/', 'http://0x7f.0x0.0x0.0x1/',
  'http://0177.0.0.1/', 'http://0177.0.0.01/', 'http://017700000001/', 'http://127.0.0.0x1/', 'http://127.0x0.1/', 'http://127.0.0.1./', 'http://127.0.0.01/', 'http://0127.0.0.1/',
  'http://2852039166/', 'http://0xa9fea9fe/', 'http://0251.0376.0251.0376/', 'http://169.254.43518/', 'http://169.16689662/', 'http://0xa9.254.0xa9.254/', 'http://134744072/', 'http://0x08080808/',
  'http://010.8.8.8/', 'http://8.8.2056/', 'http://8.526344/', 'http://%31%32%37.0.0.1/', 'http://127%2e0%2e0%2e1/', 'http://127。0。0。1/', 'http://１２７.0.0.1/', 'http://①②⑦.⓪.⓪.①/',
  'http://[::ffff:127.0.0.1]:80/', 'http://[0:0:0:0:0:0:0:1]/', 'http://[0000:0000:0000:0000:0000:0000:0000:0001]/', 'http://[::ffff:0x7f.1]/', 'http://[::1%25lo]/', 'http://[fe80::1%25eth0]/',
]
const SCHEMES = [
  'file:///etc/passwd', 'ftp://a.example/', 'gopher://127.0.0.1:6379/_INFO', 'dict://127.0.0.1:11211/stat', 'ldap://a.example/', 'jar:http://a.example!/', 'data:text/plain,x', 'javascript:alert(1)',
  'ws://a.example/', 'wss://a.example/', 'unix:/var/run/docker.sock', 'http+unix://%2Fvar%2Frun%2Fdocker.sock/', 'netdoc:///etc/passwd', 'blob:http://a.example/1', 'view-source:http://a.example/', 'about:blank',
]
const TRICKS = [
  'http://user@a.example/', 'http://user:pw@a.example/', 'http://:pw@a.example/', 'http://a.example@127.0.0.1/', 'http://127.0.0.1#@a.example/', 'http://a.example%40@127.0.0.1/', 'http://127.0.0.1\\@a.example/',
  'http:\\\\127.0.0.1/', 'http:/127.0.0.1/', 'http:127.0.0.1/', 'http:///127.0.0.1/', 'http:////127.0.0.1/', 'https:/\\127.0.0.1/', 'http://127.0.0.1\t/', 'http://127.0.0\n.1/', ' http://127.0.0.1/',
  'http://127.0.0.1 /', 'http://localhost/', 'http://LOCALHOST/', 'http://localhost./', 'http://localhost:22/', 'http://foo.localhost/', 'http://ip6-localhost/', 'http://127.0.0.1.nip.example/', 'http://localtest.me/',
  'http://metadata.google.internal/', 'http://instance-data/', 'http://kubernetes.default.svc/', 'https://127.0.0.1:8443/', 'http://127.0.0.1:6379/', 'http://127.0.0.1:5432/', 'http://a\u0000.example/',
  'http://ｌｏｃａｌｈｏｓｔ/', 'http://ⓛocalhost/', 'http://loc\u00adalhost/', '//127.0.0.1/', '127.0.0.1', '127.0.0.1:80', 'localhost', '', 'http://', 'http:// /', 'http://[', 'http://[]/', 'http://256.1.1.1/', 'http://1.2.3.4.5/',
]

/** Each is refused as it stands, with a resolver that says 127.0.0.1 to every name. */
export const HOSTILE_URLS: readonly string[] = [...V4_INSIDE.map(address => `http://${address}/`), ...V6_INSIDE.map(address => `http://[${address}]/`), ...ODD, ...SCHEMES, ...TRICKS]

/** What a harmless name may resolve to, one answer or several. */
export const HOSTILE_NAMES: readonly (readonly string[])[] = [
  ...V4_INSIDE.map(address => [address]), ...V6_INSIDE.map(address => [address]),
  ['8.8.8.8', '10.0.0.1'], ['127.0.0.1', '8.8.8.8'], ['2606:4700::1111', '::1'], ['8.8.8.8', 'fe80::1'], ['fe80::1%eth0'], ['not an address'],
]
