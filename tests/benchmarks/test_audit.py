"""The text audit of 70,000 x 4,000 dialogues: under 120 s, in bounded memory, and every planted near-copy is found."""

from __future__ import annotations

import resource
import sys
import time
from random import Random

from annotation.domain.leakage_text import near_pairs

TRAIN, TEST, PLANTED = 70_000, 4_000, 400
MOST_S, MOST_MB = 120.0, 1_000
_ENGLISH = (
    "about after again alone always angry answer anyway arrive aunt bag because before begin better between bring brother "
    "call careful change child city close coffee cold come cook cry day dinner door dream drive early evening every family "
    "far father feel find finish fine forget friend garden gone good happy hear heavy help home hope hour house hurt idea "
    "job keep kitchen know late later laugh leave letter light listen little live lonely long look lose lost love make "
    "market maybe meet mind minute miss moment money morning mother move need never news night noise old open paper "
    "party people phone piece place plan play please promise quiet rain read really reason remember rest ring road room "
    "run sad say school sea see send shop short show sick sister sit sleep slow small smile sorry sound speak stand start "
    "stay still stop story street strong sure table talk tea teacher tell thing think ticket time tired today together "
    "tomorrow train travel true trust try turn uncle understand voice wait wake walk want warm watch water way week weekend "
    "well whole window winter wish woman wonder word work worry write wrong year yesterday young"
)
_CHINESE = (
    "今天 明天 昨天 早上 晚上 朋友 家人 妈妈 爸爸 工作 学校 老师 学生 电话 问题 时间 事情 心情 难过 高兴 生气 害怕 担心 希望 "
    "知道 觉得 喜欢 讨厌 忘记 记得 帮忙 谢谢 抱歉 没有 已经 还是 可能 应该 必须 突然 终于 慢慢 认真 安静 孤单 温暖 天气 下雨 "
    "火车 飞机 医院 医生 药店 饭馆 咖啡 茶馆 超市 公园 房子 窗户 桌子 灯光 声音 音乐 电影 故事 信件 礼物 照片 梦想 计划 决定 "
    "改变 开始 结束 等待 离开 回来 见面 说话 听见 看见 相信 怀疑 理解 解释 安慰 鼓励 批评 表扬 拒绝 接受 同意 反对 一起 自己 "
    "孩子 哥哥 妹妹 邻居 同事 老板 客人 司机 警察 护士 我 你 他 她 的 了 吗 吧 很 太 都 也 不 在 和 给 对 把 被 让"
)
ENGLISH, CHINESE = _ENGLISH.split(), _CHINESE.split()


def dialogue(rng):
    chinese = rng.random() < 0.5
    words = CHINESE if chinese else ENGLISH
    return [rng.choice(words) for _ in range(rng.randint(48, 96))], chinese


def joined(words, chinese):
    return ("" if chinese else " ").join(words)


def edited(words, chinese, rng):
    """One token in every twelve is another one."""
    changed = list(words)
    for start in range(0, len(words) - 11, 12):
        changed[start + rng.randrange(12)] = rng.choice(CHINESE if chinese else ENGLISH)
    return joined(changed, chinese)


def test_a_large_audit_finds_every_planted_copy_in_time(capsys):
    rng = Random(5)
    train = [dialogue(rng) for _ in range(TRAIN)]
    texts = [joined(*one) for one in train]
    planted = {place: rng.randrange(TRAIN) for place in range(PLANTED)}
    test = [edited(*train[planted[n]], rng) if n in planted else joined(*dialogue(rng)) for n in range(TEST)]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

    started = time.process_time()
    found = list(near_pairs(test, texts))
    took = time.process_time() - started

    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024 - before
    pairs = {(near.here, near.there) for near in found}
    clean = {near.here for near in found} - set(planted)
    with capsys.disabled():
        sys.stdout.write(
            f"\n{took:.1f} s of processor time, {used:.0f} MB more, {len(pairs & set(planted.items()))}/{PLANTED} planted found, "
            f"{len(clean)}/{TEST - PLANTED} clean ones flagged\n"
        )
    assert set(planted.items()) <= pairs
    assert clean == set()
    assert took < MOST_S
    assert used < MOST_MB
